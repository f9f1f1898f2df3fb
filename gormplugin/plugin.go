package gormplugin

import (
	"fmt"
	"maps"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const pluginName = "snowflake"

// Plugin fills primary keys and tagged fields before rows are created; see the package comment. It is a gorm.Plugin,
// for db.Use and gorm.Config.Plugins, and a gorm.Option, for gorm.Open. It may serve several handles and be used
// concurrently. The zero Plugin has no generator: make one with [New] or [Open].
type Plugin struct {
	*config
	err   error        // of the options
	lease *lease.Lease // of Open
}

var (
	_ gorm.Plugin = (*Plugin)(nil)
	_ gorm.Option = (*Plugin)(nil)
)

// New returns a plugin that takes its IDs from gen. [Plugin.Initialize] reports a nil gen and invalid options.
func New(gen Generator, opts ...Option) *Plugin {
	p := &Plugin{}
	p.config, p.err = newConfig(gen, opts)
	switch {
	case p.err != nil:
	case isNil(gen):
		p.err = fmt.Errorf("%w: nil generator", ErrOption)
	case len(p.leaseOptions) > 0 || p.leaseTable != "":
		p.err = fmt.Errorf("%w: New does not take WithLease and WithLeaseTable, use Open", ErrOption)
	}
	return p
}

// of returns the plugin of a handle, or nil.
func of(db *gorm.DB) *Plugin {
	p, _ := db.Plugins[pluginName].(*Plugin)
	return p
}

// Name returns "snowflake". GORM rejects a second plugin of that name with gorm.ErrRegistered.
func (*Plugin) Name() string { return pluginName }

// Apply adds the plugin to the configuration of a handle that is being opened. It returns gorm.ErrRegistered if another
// Plugin is already registered. GORM calls it.
func (p *Plugin) Apply(config *gorm.Config) error {
	if other, ok := config.Plugins[pluginName]; ok && other != gorm.Plugin(p) {
		return errRegistered()
	}
	// Use a new map: the caller may open another handle with a copy of the configuration.
	plugins := maps.Clone(config.Plugins)
	if plugins == nil {
		plugins = make(map[string]gorm.Plugin, 1)
	}
	plugins[pluginName] = p
	config.Plugins = plugins
	return nil
}

func errRegistered() error {
	return fmt.Errorf("gormplugin: the handle already has a plugin of New or Open: %w", gorm.ErrRegistered)
}

// AfterInitialize does nothing: GORM initializes the plugins that [Plugin.Apply] put into the configuration.
func (*Plugin) AfterInitialize(*gorm.DB) error { return nil }

// Initialize registers the callbacks with a handle. GORM calls it. The second call does nothing. It returns an error
// that wraps [ErrOption] for a nil generator or an invalid option, or gorm.ErrInvalidDB if the handle has no callbacks
// for Create, which every dialect registers.
func (p *Plugin) Initialize(db *gorm.DB) error {
	switch {
	case p == nil || p.config == nil:
		return fmt.Errorf("%w: nil plugin", ErrOption)
	case p.err != nil:
		return p.err
	}
	if err := p.checkMinID(); err != nil {
		return err
	}
	return register(db, p.config)
}
