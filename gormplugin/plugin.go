package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Name is the name that the plugin has in GORM, the same for every [Plugin]: a handle can have one only.
const Name = "snowflake"

// The names of the callbacks, for other plugins that want a place before or after them.
const (
	callbackFill    = Name + ":fill_keys"
	callbackPrepare = Name + ":prepare_conflict"
	callbackSettle  = Name + ":settle_conflict"

	callbackAnnounceBefore = Name + ":announce_before"
	callbackAnnounceAfter  = Name + ":announce_after"
	callbackWithdraw       = Name + ":withdraw"
)

// Generator makes IDs. *snowflake.Generator is one.
type Generator interface {
	// Fill sets every element of dst to a new ID, ascending, or returns an error and leaves dst as it was. It ends any
	// wait when ctx, the context of the statement, is done. It must be safe for concurrent use.
	Fill(ctx context.Context, dst []snowflake.ID) error
}

// Plugin fills primary keys and tagged fields before rows are created; see the package comment. It is a gorm.Plugin, for
// db.Use and gorm.Config.Plugins, and a gorm.Option, for gorm.Open. One that [New] made holds no state of a database, so
// it may serve several handles. It may be used concurrently.
type Plugin struct {
	gen         Generator
	models      map[reflect.Type]Generator // of WithModel
	named       map[string]Generator       // of WithNamed
	afterHooks  bool
	integerKeys bool

	lease        *lease.Lease   // of Open
	leaseOptions []lease.Option // of WithLease
	leaseTable   string         // of WithLeaseTable

	errs []error // of the options
}

var (
	_ gorm.Plugin = (*Plugin)(nil)
	_ gorm.Option = (*Plugin)(nil)
)

// New returns a plugin that takes its IDs from gen. A nil gen and what is wrong with the options is reported when the
// plugin meets a database, by [Plugin.Initialize]. Options that are nil are ignored.
func New(gen Generator, opts ...Option) *Plugin {
	p := &Plugin{gen: gen}
	p.apply(opts)
	return p
}

func (p *Plugin) apply(opts []Option) {
	for _, opt := range opts {
		if opt != nil {
			opt.apply(p)
		}
	}
}

// Generator returns the default generator: that of [New], or the one that Open leases the worker for.
func (p *Plugin) Generator() Generator { return p.gen }

// of returns the plugin of a handle, or nil.
func of(db *gorm.DB) *Plugin {
	p, _ := db.Plugins[Name].(*Plugin)
	return p
}

// generatorFor returns the generator of a model's fields, unless their tags or the session name another.
func (p *Plugin) generatorFor(model reflect.Type) Generator {
	if gen, ok := p.models[model]; ok {
		return gen
	}
	return p.gen
}

// Name returns [Name]. GORM refuses a second plugin of that name with gorm.ErrRegistered.
func (*Plugin) Name() string { return Name }

// Apply adds the plugin to the configuration of a handle that is being opened. It returns gorm.ErrRegistered if another
// Plugin is there already. GORM calls it.
func (p *Plugin) Apply(config *gorm.Config) error {
	if other, ok := config.Plugins[Name]; ok && other != gorm.Plugin(p) {
		return fmt.Errorf("gormplugin: %s: %w", Name, gorm.ErrRegistered)
	}
	// In a map of its own: the caller may open another handle with a copy of the configuration.
	plugins := maps.Clone(config.Plugins)
	if plugins == nil {
		plugins = make(map[string]gorm.Plugin, 1)
	}
	plugins[Name] = p
	config.Plugins = plugins
	return nil
}

// AfterInitialize does nothing: GORM initializes all that [Plugin.Apply] has put into the configuration.
func (*Plugin) AfterInitialize(*gorm.DB) error { return nil }

// Initialize registers the callbacks with a handle. GORM calls it. It does nothing the second time. It returns
// [ErrNilGenerator], [ErrOption] for an option that cannot be right, or an error that wraps gorm.ErrInvalidDB if the
// handle has no callbacks for Create, which every dialect registers.
func (p *Plugin) Initialize(db *gorm.DB) error {
	if p == nil || isNil(p.gen) {
		return ErrNilGenerator
	}
	if err := p.validate(); err != nil {
		return err
	}
	create := db.Callback().Create()
	if create.Get(callbackFill) != nil {
		return nil
	}
	if create.Get("gorm:before_create") == nil || create.Get("gorm:create") == nil {
		return fmt.Errorf("gormplugin: no callbacks for Create: %w", gorm.ErrInvalidDB)
	}

	h := &handle{
		plugin:    p,
		returning: slices.Contains(create.Clauses, "RETURNING"),
		mysql:     db.Dialector != nil && db.Name() == "mysql",
	}
	// Not before gorm:begin_transaction: that one does not exist under SkipDefaultTransaction, and a callback whose
	// anchor does not exist runs last.
	anchor := "gorm:before_create"
	if p.afterHooks {
		anchor = "gorm:save_before_associations" // the one that follows
	}
	update := db.Callback().Update() // saves associations as well
	saveBefore, saveAfter := "gorm:save_before_associations", "gorm:save_after_associations"
	err := errors.Join(
		create.Before(anchor).Register(callbackFill, h.fill),
		create.Before(saveBefore).Register(callbackAnnounceBefore, announceBefore),
		create.Before("gorm:create").Register(callbackPrepare, h.prepare),
		create.Before(saveAfter).Register(callbackSettle, h.settle),
		create.Before(saveAfter).Register(callbackAnnounceAfter, announceAfter),
		create.After(saveAfter).Register(callbackWithdraw, withdraw),
		update.Before(saveBefore).Register(callbackAnnounceBefore, announceBefore),
		update.Before(saveAfter).Register(callbackAnnounceAfter, announceAfter),
		update.After(saveAfter).Register(callbackWithdraw, withdraw),
		h.registerWait(db),
	)
	if err != nil {
		return fmt.Errorf("gormplugin: register the callbacks: %w", err)
	}
	return nil
}

// handle is what the callbacks of one database share.
type handle struct {
	plugin    *Plugin
	returning bool                 // the dialect has INSERT ... RETURNING
	mysql     bool                 // conflicts are handled by ON DUPLICATE KEY UPDATE, which knows no target
	plans     sync.Map             // *schema.Schema to *plan
	last      atomic.Pointer[plan] // that was used, mostly the next one too
	warned    sync.Map             // reflect.Type of models
}

// isNil reports whether gen is nil or an interface around a nil pointer.
func isNil(gen Generator) bool {
	if gen == nil {
		return true
	}
	switch v := reflect.ValueOf(gen); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}
