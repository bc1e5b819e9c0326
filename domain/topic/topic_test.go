package topic_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/topic"
)

type scenario = domaintest.Scenario[topic.State, topic.Command]

func joined(id string) domain.Event { return topic.Joined{Topic: "sales", User: topic.User{ID: id}} }

func create(ids ...string) topic.Create { return topic.Create{Name: "sales", UserIDs: ids} }

func join(ids ...string) topic.Join { return topic.Join{Name: "sales", UserIDs: ids, Create: true} }

// manyUsers is so many users.
func manyUsers(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("u%05d", i))
	}
	return ids
}

func TestTopic(t *testing.T) {
	made := []domain.Event{topic.Created{Topic: "sales", UserIDs: []string{"bob", "ann"}}}
	empty := topic.Created{Topic: "sales", UserIDs: []string{}}
	full := []domain.Event{topic.Created{Topic: "sales", UserIDs: manyUsers(topic.Most)}}
	named := func(name string) topic.Create { return topic.Create{Name: name} }
	for name, sc := range map[string]scenario{
		"a topic is made":                            {When: create(), Then: []domain.Event{empty}},
		"a topic is made with its members":           {When: create("bob", "ann"), Then: made},
		"who is named twice is a member once":        {When: create("bob", "ann", "bob"), Then: made},
		"what exists is left as it is":               {Given: made, When: create("eve")},
		"a user joins":                               {Given: made, When: join("eve"), Then: []domain.Event{joined("eve")}},
		"each new member is told":                    {Given: made, When: join("eve", "rob"), Then: []domain.Event{joined("eve"), joined("rob")}},
		"who has joined does not join again":         {Given: made, When: join("ann", "eve", "eve"), Then: []domain.Event{joined("eve")}},
		"where all have joined nothing happens":      {Given: made, When: join("ann", "bob")},
		"what does not exist is made":                {When: join("eve"), Then: []domain.Event{empty, joined("eve")}},
		"what does not exist is refused":             {When: topic.Join{Name: "sales", UserIDs: []string{"eve"}}, Refuse: domain.CodeNotFound},
		"what exists need not be made":               {Given: made, When: topic.Join{Name: "sales", UserIDs: []string{"eve"}}, Then: []domain.Event{joined("eve")}},
		"somebody must join":                         {Given: made, When: join(), Refuse: domain.CodeValidation},
		"nobody joins what has no name":              {When: topic.Join{UserIDs: []string{"eve"}, Create: true}, Refuse: domain.CodeValidation},
		"a name is not empty":                        {When: named(""), Refuse: domain.CodeValidation},
		"a name is not blank":                        {When: named(" "), Refuse: domain.CodeValidation},
		"a name is one line":                         {When: named("a\nb"), Refuse: domain.CodeValidation},
		"a name has no zero byte":                    {When: named("a\x00b"), Refuse: domain.CodeValidation},
		"a name is text":                             {When: named("\xff"), Refuse: domain.CodeValidation},
		"a name is not too long":                     {When: named(strings.Repeat("é", topic.MaxName+1)), Refuse: domain.CodeValidation},
		"a user has an id":                           {When: join("eve", ""), Refuse: domain.CodeValidation},
		"the id of a user is one line":               {When: create("a\x00b"), Refuse: domain.CodeValidation},
		"the id of a user is not too long":           {When: join(strings.Repeat("u", topic.MaxUser+1)), Refuse: domain.CodeValidation},
		"many do not join at once":                   {When: join(manyUsers(topic.MostAtOnce + 1)...), Refuse: domain.CodeValidation},
		"many are no first members":                  {When: create(manyUsers(topic.MostAtOnce + 1)...), Refuse: domain.CodeValidation},
		"a full topic takes nobody":                  {Given: full, When: join("eve"), Refuse: domain.CodeQuota},
		"a full topic has room for those who joined": {Given: full, When: join("u00001")},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, topic.Decider) })
	}
}

func TestAListWithManyFaultsNamesFew(t *testing.T) {
	_, err := topic.Decider.Decide(topic.State{}, topic.Join{UserIDs: make([]string, topic.MostAtOnce)})
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	body, err := json.Marshal(err)
	require.NoError(t, err)
	require.Less(t, len(body), 1000)
}

func TestMembersAreFoldedInWhateverOrder(t *testing.T) {
	ids := manyUsers(300)
	s := topic.Decider.Fold(topic.State{}, topic.Created{Topic: "sales", UserIDs: []string{ids[7], ids[3]}})
	before := s
	for _, id := range slices.Backward(ids) {
		s = topic.Decider.Fold(s, joined(id))
	}
	require.Equal(t, ids, s.Members)
	require.Equal(t, []string{ids[3], ids[7]}, before.Members, "what was folded before stays")
	require.True(t, s.Has(ids[299]))
	require.False(t, s.Has("nobody"))
}

func TestTopicsOfAllNamesHaveStreams(t *testing.T) {
	a, b := topic.Stream("w1", "orders.*"), topic.Stream("w1", "orders.>")
	require.NotEqual(t, a, b)
	require.Equal(t, domain.StreamID{Scope: "w1", Kind: "topic", ID: domain.HashSecret("orders.*")}, a)
}

func TestWhatIsStoredOfTopics(t *testing.T) {
	for stored, ev := range map[string]domain.Event{
		`{"topic":"sales","userIds":[]}`:          topic.Created{Topic: "sales", UserIDs: []string{}},
		`{"topic":"sales","user":{"id":"ann"}}`:   joined("ann"),
		`{"topic":"sales","userIds":["b","a"]}`:   topic.Created{Topic: "sales", UserIDs: []string{"b", "a"}},
		`{"topic":"größe","user":{"id":"u<é>1"}}`: topic.Joined{Topic: "größe", User: topic.User{ID: "u<é>1"}},
	} {
		body, err := json.Marshal(ev)
		require.NoError(t, err)
		require.JSONEq(t, stored, string(body))
	}
}
