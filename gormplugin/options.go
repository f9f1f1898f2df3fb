package gormplugin

// Option changes what [New] returns. Options are made by the functions of this package only.
type Option interface{ apply(p *Plugin) }

type optionFunc func(p *Plugin)

func (f optionFunc) apply(p *Plugin) { f(p) }

// AfterHooks fills keys after the model's BeforeSave and BeforeCreate hooks instead of before them. The hooks then see
// the key 0, and a key that a hook sets is kept as it is without the option.
//
// It is for hooks that insert a copy of the record they belong to: by default both have the same key.
func AfterHooks() Option {
	return optionFunc(func(p *Plugin) { p.afterHooks = true })
}
