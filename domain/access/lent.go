package access

// lent returns a rule as it binds somebody whose rights may have been lent to an
// automation: as it is where they are lent, where it denies and where it is anyone's; as
// far as it is about executing automations elsewhere; nil when nothing of it is left.
func (r *Rights) lent(m *rule) *rule {
	if m == nil || !r.who.Lent || r.who.LentTo == r.workspace.Policy.workspaceID || m.denies || !m.own && m.needs == 0 {
		return m
	}
	row := &vocabulary[m.subject]
	actions := m.actions & row.of("execute")
	switch actions {
	case 0:
		return nil
	case m.actions:
		return m
	}
	narrow := *m
	narrow.actions = actions
	return &narrow
}
