package settings

import "time"

// Core is what every part needs.
type Core struct {
	DataDir          string
	ConfigFile       string // "" when none was read
	NodeName         string
	MasterKeys       []MasterKey // empty until given or made by EnsureKeys
	InternalAPIKey   Secret      // empty until given or made by EnsureKeys
	DiskMinFree      int64       // bytes
	BadgerMemtable   int64       // bytes
	BadgerBlockCache int64       // bytes
	ShutdownGrace    time.Duration
	Roles            []string
	DisabledServices []string // left out of readiness
}

func coreTable(c *Core) []Setting {
	return []Setting{
		{Name: "DATA_DIR", Default: "./data", Unit: "path", Meaning: "all local state; created 0700; one process at a time", marks: perNode, value: path(&c.DataDir)},
		{Name: "CONFIG_FILE", Default: "`.env` when present", Unit: "path", Meaning: "extra source of settings", marks: perNode, derive: defaultConfigFile, value: path(&c.ConfigFile)},
		{Name: "NODE_NAME", Default: "host name", Unit: "text", Meaning: "unique in the cluster", marks: perNode, derive: defaultNodeName, value: matching(&c.NodeName, `[A-Za-z0-9][A-Za-z0-9._-]{0,62}`, "up to 63 letters, digits, dots, dashes and underscores")},
		{Name: "SECRETS_MASTER_KEYS", Default: "generated (1.1)", Unit: "JSON", Meaning: "master keys", marks: secret, derive: noDefault, value: masterKeys(&c.MasterKeys)},
		{Name: "INTERNAL_API_KEY", Default: "generated (1.1)", Unit: "text", Meaning: "key for internal calls, header `x-svc-api-key`", marks: apiKey, derive: noDefault, value: internalKey(&c.InternalAPIKey)},
		{Name: "DISK_MIN_FREE_MB", Default: "512", Unit: "MB", Meaning: "below: writes get 503, readiness error", marks: live | perNode, value: size(&c.DiskMinFree, mb, 0, 1024*gb)},
		{Name: "BADGER_MEMTABLE_MB", Default: "16", Unit: "MB", Meaning: "read-model store memory", marks: perNode, value: size(&c.BadgerMemtable, mb, 16*mb, 4*gb)},
		{Name: "BADGER_BLOCK_CACHE_MB", Default: "64", Unit: "MB", Meaning: "read-model store cache", marks: perNode, value: size(&c.BadgerBlockCache, mb, 0, 64*gb)},
		{Name: "SHUTDOWN_GRACE_SECONDS", Default: "30", Unit: "s", Meaning: "drain time on SIGTERM", marks: perNode, value: seconds(&c.ShutdownGrace, 0, time.Hour)},
		{Name: "ROLES", Default: "all", Unit: "list", Meaning: "background work this node takes: runtime, webhooks, bulk, cleanup, crawler; HTTP is served by every node", marks: perNode, value: someOf(&c.Roles, "runtime", "webhooks", "bulk", "cleanup", "crawler")},
		{Name: "DISABLED_SERVICES", Default: "-", Unit: "list", Meaning: "services that are switched off, and left out of readiness: searchengine, crawler", value: listOf(&c.DisabledServices, "searchengine, crawler", func(s string) bool { return s == "searchengine" || s == "crawler" })},
	}
}
