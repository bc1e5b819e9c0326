package identity

import (
	"strings"

	"svc/domain/access"
	"svc/projections"
)

// member is a user in a workspace.
type member struct{ workspaceID, userID string }

// membership is which topics of a workspace a user has joined, as of one event. It is
// never changed, only replaced.
type membership struct {
	version uint64
	topics  []string
	moment
}

// topics returns which topics of a workspace a user has joined, as it is now. What
// cannot be read is none.
func (i *Identity) topics(who member) []string {
	now := i.o.ReadModel.Moment()
	have, known := i.members.Get(who)
	if known && have.holds(now) {
		return have.topics
	}
	r := i.o.ReadModel.Reader()
	defer r.Close()
	have, err := i.joined(r, who)
	if err != nil {
		return nil
	}
	have.hold(now)
	return have.topics
}

// joined returns what is known of a user in a workspace, or what the read models have.
// Most users have joined nothing, which one look tells.
func (i *Identity) joined(r projections.Reader, who member) (*membership, error) {
	version, err := projections.Topics{}.Version(r, who.userID)
	if err != nil {
		return nil, err
	}
	if have, ok := i.members.Get(who); ok && have.version == version {
		return have, nil
	}
	made := &membership{version: version}
	if version != 0 {
		if made.topics, err = (projections.Topics{}).Of(r, who.workspaceID, who.userID); err != nil {
			return nil, err
		}
	}
	i.members.Set(who, made)
	return made, nil
}

// within returns somebody as they are in one workspace: with the topics that they have
// joined there whenever a rule asks, and with the role that they took if it is of that
// workspace.
func (i *Identity) within(p access.Principal, workspaceID string) access.Principal {
	if p.UserID != "" && p.Topics == nil {
		who := member{workspaceID, p.UserID}
		p.Joined = func() []string { return i.topics(who) }
	}
	if where, role, taken := strings.Cut(p.KeyRole, "\x00"); taken {
		p.KeyRole = ""
		if where == workspaceID {
			p.KeyRole = role
		}
	}
	return p
}

// roleOf is the KeyRole of a principal whose workspace is not known yet. It is the
// name of no role: who forgets to ask within gets none.
func roleOf(workspaceID, role string) string { return workspaceID + "\x00" + role }
