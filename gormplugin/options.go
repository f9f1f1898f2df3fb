package gormplugin

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// SessionGenerator is the name of the setting for the generator of a session:
//
//	db.Set(gormplugin.SessionGenerator, gen).Create(&orders)
//
// The statements of the session, those for associations included, take their IDs from gen, which must be a [Generator],
// or Create fails with [ErrOption]. It comes before the generators of [WithModel] and [New]; fields whose tag names a
// generator keep theirs. A handle that is used several times needs a session:
//
//	imported := db.Set(gormplugin.SessionGenerator, gen).Session(&gorm.Session{})
const SessionGenerator = Name + ":generator"

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

// IntegerKeys fills keys of the types int64, uint64, int and uint without a tag as well, those of gorm.Model among them.
// On 32-bit platforms int and uint are too small and stay with the database. So do keys that have an autoIncrement or
// default tag, or `gorm:"snowflake:-"`.
//
// GORM takes such keys for auto-increment ones and creates their columns so; see [AutoMigrate] for new tables and
// [Prepare] for tables that are there.
func IntegerKeys() Option {
	return optionFunc(func(p *Plugin) { p.integerKeys = true })
}

// WithModel gives the model a generator of its own, in place of that of [New]. model is a struct or a pointer to one.
// [Plugin.Initialize] returns [ErrOption] for anything else and for a model that is named twice, and [ErrNilGenerator].
func WithModel(model any, gen Generator) Option {
	return optionFunc(func(p *Plugin) {
		t := reflect.TypeOf(model)
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t == nil || t.Kind() != reflect.Struct:
			p.refuse("WithModel: %T is not a struct", model)
		case isNil(gen):
			p.errs = append(p.errs, fmt.Errorf("%w for the model %s", ErrNilGenerator, t))
		case p.models[t] != nil:
			p.refuse("WithModel: the model %s has a generator already", t)
		default:
			if p.models == nil {
				p.models = make(map[reflect.Type]Generator)
			}
			p.models[t] = gen
		}
	})
}

// WithNamed adds a generator for the fields with the tag `gorm:"snowflake:name"`. The case of letters matters.
// [Plugin.Initialize] returns [ErrOption] for a name that is empty, used twice, or cannot be written in a tag, and
// [ErrNilGenerator].
func WithNamed(name string, gen Generator) Option {
	return optionFunc(func(p *Plugin) {
		switch {
		case name == "":
			p.refuse("WithNamed: empty name")
		case name == tagOptOut, name == tagName, strings.ContainsAny(name, ";\"\\`"), strings.TrimSpace(name) != name:
			p.refuse("WithNamed: the tag snowflake cannot have the name %q", name)
		case isNil(gen):
			p.errs = append(p.errs, fmt.Errorf("%w for the name %q", ErrNilGenerator, name))
		case p.named[name] != nil:
			p.refuse("WithNamed: the name %q is used twice", name)
		default:
			if p.named == nil {
				p.named = make(map[string]Generator)
			}
			p.named[name] = gen
		}
	})
}

func (p *Plugin) refuse(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...))
}

// validate returns what is wrong with the options.
func (p *Plugin) validate() error {
	err := errors.Join(p.errs...)
	if p.lease == nil && (len(p.leaseOptions) > 0 || p.leaseTable != "") {
		err = errors.Join(err, fmt.Errorf("%w: WithLease and WithLeaseTable are for Open", ErrOption))
	}
	return err
}
