package projections_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/topic"
	"svc/domain/user"
	"svc/domain/workspace"
	"svc/projections"
)

// topicsOf are the topics of a user in a workspace, and their version.
func topicsOf(t *testing.T, h *house, workspaceID, userID string) (names []string, version uint64) {
	t.Helper()
	require.NoError(t, h.View(func(rd projections.Reader) (err error) {
		if names, err = (projections.Topics{}).Of(rd, workspaceID, userID); err != nil {
			return err
		}
		version, err = projections.Topics{}.Version(rd, userID)
		return err
	}))
	return names, version
}

// membersOf are the members of a topic; nil when there is none.
func membersOf(t *testing.T, h *house, workspaceID, name string) (ids []string) {
	t.Helper()
	require.NoError(t, h.View(func(rd projections.Reader) error {
		found, ok, err := projections.Topics{}.Members(rd, workspaceID, name)
		if ok {
			ids = append([]string{}, found...)
		}
		return err
	}))
	return ids
}

func TestTopicsAreFoldedByWorkspaceAndUser(t *testing.T) {
	t.Parallel()
	h := newHouse(t, projections.Topics{})
	r := newRecorder(t, h)
	made := func(workspaceID, name string, ids ...string) {
		r.state(topic.Stream(workspaceID, name), topic.Created{Topic: name, UserIDs: append([]string{}, ids...)})
	}
	joins := func(workspaceID, name, id string) {
		r.state(topic.Stream(workspaceID, name), topic.Joined{Topic: name, User: topic.User{ID: id}})
	}
	made("w1", "sales", "bob", "ann")
	made("w1", "sales/north")
	made("w2", "sales")
	joins("w1", "sales/north", "ann")
	joins("w2", "sales", "bo")

	require.Equal(t, []string{"ann", "bob"}, membersOf(t, h, "w1", "sales"))
	require.Equal(t, []string{"ann"}, membersOf(t, h, "w1", "sales/north"))
	require.Equal(t, []string{"bo"}, membersOf(t, h, "w2", "sales"))
	require.Nil(t, membersOf(t, h, "w1", "sal"), "a name is a whole name")
	require.Nil(t, membersOf(t, h, "w1", "sales\x00ann"))
	require.Nil(t, membersOf(t, h, "w3", "sales"))

	names, before := topicsOf(t, h, "w1", "ann")
	require.Equal(t, []string{"sales", "sales/north"}, names)
	require.NotZero(t, before)
	names, _ = topicsOf(t, h, "w2", "ann")
	require.Empty(t, names, "another workspace has topics of its own")
	names, version := topicsOf(t, h, "w1", "nobody")
	require.Empty(t, names)
	require.Zero(t, version)

	joins("w1", "sales", "eve")
	_, after := topicsOf(t, h, "w1", "ann")
	require.Equal(t, before, after, "nothing changed for her")
	joins("w2", "sales", "ann")
	_, after = topicsOf(t, h, "w1", "ann")
	require.Greater(t, after, before)
}

func TestTopicsLeaveOutWhoAndWhatIsDeleted(t *testing.T) {
	t.Parallel()
	h := newHouse(t, projections.Topics{})
	r := newRecorder(t, h)
	r.state(workspace.Stream("w1"), workspace.Created{Workspace: snapshot("w1", "Shop")})
	r.state(topic.Stream("w1", "sales"), topic.Created{Topic: "sales", UserIDs: []string{"ann", "bob"}})
	_, before := topicsOf(t, h, "w1", "ann")

	r.state(user.Stream("ann"), user.Deleted{UserID: "ann"})
	names, after := topicsOf(t, h, "w1", "ann")
	require.Empty(t, names)
	require.Greater(t, after, before)
	require.Equal(t, []string{"bob"}, membersOf(t, h, "w1", "sales"))
	r.state(topic.Stream("w1", "sales"), topic.Joined{Topic: "sales", User: topic.User{ID: "ann"}})
	names, _ = topicsOf(t, h, "w1", "ann")
	require.Empty(t, names, "an account does not come back")

	r.state(workspace.Stream("w1"), workspace.Deleted{})
	names, _ = topicsOf(t, h, "w1", "bob")
	require.Empty(t, names)
	require.Nil(t, membersOf(t, h, "w1", "sales"))
	r.state(workspace.Stream("w1"), workspace.Undeleted{})
	names, _ = topicsOf(t, h, "w1", "bob")
	require.Equal(t, []string{"sales"}, names)
}
