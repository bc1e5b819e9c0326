package settings

// Config is every setting in its typed form, grouped by part.
type Config struct {
	Core       Core
	HTTP       HTTP
	Auth       Auth
	Broker     Broker
	Events     Events
	Runtime    Runtime
	Workspaces Workspaces
	Bulk       Bulk
	Git        Git
	Egress     Egress
	Hooks      Hooks
	Crawler    Crawler
	Knowledge  Knowledge
	Mail       Mail
	Obs        Obs
}

// Table returns every setting, in the order of the documentation.
func Table() []Setting { return table(new(Config)) }

// table is the one list of all settings, bound to the fields of c. A derived
// default may use the settings above it.
func table(c *Config) []Setting {
	var all []Setting
	for _, part := range []struct {
		name Part
		rows []Setting
	}{
		{PartCore, coreTable(&c.Core)},
		{PartHTTP, httpTable(&c.HTTP)},
		{PartAuth, authTable(&c.Auth)},
		{PartBroker, brokerTable(&c.Broker)},
		{PartEvents, eventsTable(&c.Events)},
		{PartRuntime, runtimeTable(&c.Runtime)},
		{PartRuntime, contextTable(&c.Runtime)},
		{PartRuntime, languageTable(&c.Runtime)},
		{PartWorkspaces, workspacesTable(&c.Workspaces)},
		{PartBulk, bulkTable(&c.Bulk)},
		{PartGit, gitTable(&c.Git)},
		{PartEgress, egressTable(&c.Egress)},
		{PartHooks, hooksTable(&c.Hooks)},
		{PartCrawler, crawlerTable(&c.Crawler)},
		{PartKnowledge, knowledgeTable(&c.Knowledge)},
		{PartMail, mailTable(&c.Mail)},
		{PartObs, obsTable(&c.Obs)},
	} {
		for _, row := range part.rows {
			row.Part = part.name
			if row.family != nil {
				row.family.named(row.Name)
			}
			all = append(all, row)
		}
	}
	return all
}
