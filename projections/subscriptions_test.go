package projections_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/subscription"
	"svc/domain/topic"
	"svc/domain/user"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections"
)

// recorder appends events of aggregates, each with what it expects.
type recorder struct {
	t    *testing.T
	h    *fixture
	last map[domain.StreamID]uint64
}

func newRecorder(t *testing.T, h *fixture) *recorder {
	return &recorder{t: t, h: h, last: map[domain.StreamID]uint64{}}
}

func (r *recorder) state(id domain.StreamID, events ...domain.Event) (done eventstore.Receipt) {
	r.t.Helper()
	for _, ev := range events {
		done = add(r.t, r.h.log.Log, id, r.last[id], ev)
		r.last[id] = done.Position.State
	}
	require.NoError(r.t, r.h.Reach(bounded(r.t), done.Position))
	return done
}

func (r *recorder) activity(workspaceID string, events ...domain.Event) (seqs []uint64) {
	r.t.Helper()
	for _, ev := range events {
		done := add(r.t, r.h.log.Log, domain.StreamID{Scope: workspaceID}, 0, ev)
		require.NoError(r.t, r.h.Reach(bounded(r.t), done.Position))
		seqs = append(seqs, done.Position.Activity)
	}
	return seqs
}

func subscribed(id string, change ...func(*subscription.Summary)) subscription.Summary {
	s := subscription.Summary{ID: id, Terms: subscription.Terms{URL: "https://x.example/", Types: []string{"*"}}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func TestSubscriptionsAreFoldedAndThoseThatWorkAreTold(t *testing.T) {
	t.Parallel()
	h := newFixture(t, projections.Subscriptions{})
	r := newRecorder(t, h)
	keys := subscription.Keys{Sealed: []byte("s"), Last4: "abcd"}
	r.state(workspace.Stream("w1"), workspace.Created{Workspace: snapshot("w1", "Shop")})
	for _, id := range []string{"sub_1", "sub_2", "sub_3"} {
		r.state(subscription.Stream("w1", id), subscription.Created{Subscription: subscribed(id), WorkspaceID: "w1", Keys: keys})
	}
	off := subscribed("sub_2", func(s *subscription.Summary) { s.Disabled, s.Reason = true, "failed" })
	r.state(subscription.Stream("w1", "sub_2"), subscription.Disabled{Subscription: off, Reason: "failed"})
	r.state(subscription.Stream("w1", "sub_3"), subscription.Deleted{Subscription: subscribed("sub_3")})

	working := func() (ids []string, version uint64) {
		require.NoError(t, h.View(func(rd projections.Reader) error {
			list, err := projections.Subscriptions{}.All(rd)
			for _, rec := range list {
				ids = append(ids, rec.ID)
				_, ok, err := projections.Subscriptions{}.GetActive(rd, rec.WorkspaceID, rec.ID)
				require.NoError(t, err)
				require.True(t, ok)
			}
			require.NoError(t, err)
			version, err = projections.Subscriptions{}.Version(rd)
			return err
		}))
		return ids, version
	}
	ids, before := working()
	require.Equal(t, []string{"sub_1"}, ids)
	require.NoError(t, h.View(func(rd projections.Reader) error {
		subs := projections.Subscriptions{}
		n, err := subs.Count(rd, "w1")
		require.NoError(t, err)
		require.Equal(t, 2, n, "the disabled one too")
		rec, ok, err := subs.Get(rd, "w1", "sub_2")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "failed", rec.Reason)
		require.Equal(t, "u1", rec.CreatedBy)
		require.Equal(t, "s", string(rec.Keys.Sealed))
		require.NotEmpty(t, rec.Since)
		_, ok, err = subs.Get(rd, "w2", "sub_2")
		require.NoError(t, err)
		require.False(t, ok, "it is of another workspace")
		list, err := subs.Of(rd, "w1")
		require.Len(t, list, 2)
		return err
	}))

	r.state(subscription.Stream("w1", "sub_2"), subscription.Updated{Subscription: subscribed("sub_2"), Keys: keys, Closes: true})
	ids, after := working()
	require.Equal(t, []string{"sub_1", "sub_2"}, ids)
	require.Greater(t, after, before)
	require.NoError(t, h.View(func(rd projections.Reader) error {
		rec, _, err := projections.Subscriptions{}.Get(rd, "w1", "sub_2")
		require.False(t, rec.ClosedAt.IsZero())
		return err
	}))

	r.state(workspace.Stream("w1"), workspace.Deleted{})
	ids, _ = working()
	require.Empty(t, ids)
	r.state(workspace.Stream("w1"), workspace.Undeleted{})
	ids, _ = working()
	require.Len(t, ids, 2)
	report, err := h.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, report.OK)
}

func attempted(id, sub string, at time.Time, order uint64, status subscription.Status) subscription.Record {
	d := subscription.Delivery{
		ID: "dlv_" + id, SubscriptionID: sub, EventID: "e" + id, EventType: "orders.paid", Seq: domain.Position{State: 3, Activity: order},
		SortKey: fmt.Sprint(order), Status: status, CreatedAt: at,
	}
	if status == subscription.Failed {
		d.NextAttemptAt = at.Add(time.Minute)
	}
	return subscription.Record{Delivery: d}
}

// The last place says which deliveries are surely new: of others the record before is looked for.
func TestTheLastPlaceIsThatOfTheDeliveriesThatAreLeft(t *testing.T) {
	t.Parallel()
	h := newFixture(t, projections.Deliveries{})
	r := newRecorder(t, h)
	deliveries, noon := projections.Deliveries{}, time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	requirePlace := func(want string, listed ...string) {
		t.Helper()
		require.NoError(t, h.View(func(rd projections.Reader) error {
			place, err := deliveries.LastPlace(rd, "sub_1")
			require.NoError(t, err)
			require.Equal(t, want, place)
			var ids []string
			err = deliveries.List(rd, "sub_1", time.Time{}, func(d projections.DeliveryListed) bool { ids = append(ids, d.ID); return true })
			require.Equal(t, listed, ids)
			return err
		}))
	}
	record := func(id string, started time.Time, order uint64) uint64 {
		return r.activity("w1", subscription.Attempted{Records: []subscription.Record{attempted(id, "sub_1", started, order, subscription.Failed)}})[0]
	}
	requirePlace("")
	first := record("1", noon, 10)
	requirePlace("10", "dlv_1")
	second := record("2", noon.Add(time.Second), 30)
	requirePlace("30", "dlv_2", "dlv_1")
	record("3", noon.Add(2*time.Second), 20)
	requirePlace("30", "dlv_3", "dlv_2", "dlv_1")
	record("1", noon.Add(3*time.Second), 10) // as another node that delivered it too began it later
	requirePlace("30", "dlv_1", "dlv_3", "dlv_2")
	r.activity("w1", activity.Dropped{WorkspaceID: "w1", From: first, To: second})
	requirePlace("20", "dlv_1", "dlv_3")
	last := record("4", noon.Add(4*time.Second), 25)
	requirePlace("25", "dlv_4", "dlv_1", "dlv_3")
	report, err := h.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, report.OK)
	r.activity("w1", activity.Dropped{WorkspaceID: "w1", From: first, To: last})
	requirePlace("")
}

func TestTheLastRecordOfADeliverySaysAllOfIt(t *testing.T) {
	t.Parallel()
	h := newFixture(t, projections.Deliveries{})
	r := newRecorder(t, h)
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	first, second := attempted("1", "sub_1", noon, 30, subscription.Failed), attempted("2", "sub_1", noon.Add(time.Second), 20, subscription.Pending)
	first.Health = &subscription.Health{Failures: 1, FailingSince: noon}
	other := attempted("3", "sub_2", noon, 10, subscription.Succeeded)
	other.Health = &subscription.Health{LastDeliveryAt: noon}
	told := func(records ...subscription.Record) domain.Event { return subscription.Attempted{Records: records} }
	begun := attempted("1", "sub_1", noon, 30, subscription.Pending)
	begun.Health, begun.Asked = &subscription.Health{Failures: 7}, true
	seqs := r.activity("w1", told(begun, first, second), told(other)) // of two records in one event the last counts

	deliveries := projections.Deliveries{}
	listed := func(sub string, before time.Time) (ids []string) {
		require.NoError(t, h.View(func(rd projections.Reader) error {
			return deliveries.List(rd, sub, before, func(d projections.DeliveryListed) bool { ids = append(ids, d.ID+" "+string(d.Status)); return true })
		}))
		return ids
	}
	open := func(sub string) (ids []string) {
		require.NoError(t, h.View(func(rd projections.Reader) error {
			n, err := deliveries.Waiting(rd, sub)
			require.NoError(t, err)
			defer func() { require.Len(t, ids, n) }()
			return deliveries.Open(rd, sub, func(d projections.DeliveryRecord) bool { ids = append(ids, d.ID); return true })
		}))
		return ids
	}
	asked := func(after uint64) (ids []string, last uint64) {
		require.NoError(t, h.View(func(rd projections.Reader) (err error) {
			last, err = deliveries.Asked(rd, after, func(d projections.DeliveryRecord) { ids = append(ids, d.ID) })
			return err
		}))
		return ids, last
	}
	require.Equal(t, []string{"dlv_2 pending", "dlv_1 failed"}, listed("sub_1", time.Time{}), "the newest first")
	require.Equal(t, []string{"dlv_1 failed"}, listed("sub_1", noon.Add(time.Second)), "begun before")
	require.Equal(t, []string{"dlv_2", "dlv_1"}, open("sub_1"), "in the order of the events")
	ids, _ := asked(0)
	require.Empty(t, ids)
	require.Empty(t, open("sub_2"))

	done := attempted("1", "sub_1", noon, 30, subscription.Succeeded)
	done.Health = &subscription.Health{LastDeliveryAt: noon.Add(time.Minute)}
	again := attempted("3", "sub_2", noon, 10, subscription.Pending)
	again.Asked = true
	more := r.activity("w1", told(done), told(again))
	require.Equal(t, []string{"dlv_2 pending", "dlv_1 succeeded"}, listed("sub_1", time.Time{}))
	require.Equal(t, []string{"dlv_2"}, open("sub_1"))
	ids, last := asked(0)
	require.Equal(t, []string{"dlv_3"}, ids)
	require.Equal(t, more[1], last)
	ids, last = asked(last)
	require.Empty(t, ids)
	require.Equal(t, more[1], last)
	health := func(sub string) (rec projections.HealthRecord) {
		require.NoError(t, h.View(func(rd projections.Reader) (err error) {
			rec, err = deliveries.Health(rd, sub)
			return err
		}))
		return rec
	}
	require.Equal(t, *done.Health, health("sub_1").Health)
	closed := health("sub_1").At.Add(time.Second)
	require.Equal(t, *done.Health, health("sub_1").Since(time.Time{}))
	require.Zero(t, projections.HealthRecord{Health: subscription.Health{Failures: 12}, At: noon}.Since(closed).Failures)

	t.Run("what was erased is forgotten", func(t *testing.T) {
		r.activity("w1", activity.Dropped{WorkspaceID: "w2", From: 1, To: more[1]})
		require.Len(t, listed("sub_1", time.Time{}), 2, "those of another workspace were erased")
		r.activity("w1", activity.Dropped{WorkspaceID: "w1", From: seqs[0], To: seqs[1]})
		require.Equal(t, []string{"dlv_1 succeeded"}, listed("sub_1", time.Time{}), "its last record is there")
		require.Empty(t, open("sub_1"))
		require.Equal(t, []string{"dlv_3 pending"}, listed("sub_2", time.Time{}))
		require.Zero(t, health("sub_2"), "it was of the record that was erased")
		require.NotZero(t, health("sub_1"))
		r.activity("w1", activity.Dropped{WorkspaceID: "w1", From: 1, To: more[1]})
		require.Empty(t, listed("sub_1", time.Time{}))
		require.Empty(t, listed("sub_2", time.Time{}))
		ids, _ := asked(0)
		require.Empty(t, ids)
		require.Zero(t, health("sub_1"))
		require.NoError(t, h.View(func(rd projections.Reader) error {
			return rd.Iterate(deliveries, projections.Span{}, func(key, _ []byte) (bool, error) {
				require.Fail(t, "nothing stays behind", "%q", key)
				return false, nil
			})
		}))
	})
	report, err := h.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, report.OK)
}

// topicsOf are the topics of a user in a workspace, and their version.
func topicsOf(t *testing.T, h *fixture, workspaceID, userID string) (names []string, version uint64) {
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

func TestTopicsAreFoldedByWorkspaceAndUser(t *testing.T) {
	t.Parallel()
	h := newFixture(t, projections.Topics{})
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
	h := newFixture(t, projections.Topics{})
	r := newRecorder(t, h)
	r.state(workspace.Stream("w1"), workspace.Created{Workspace: snapshot("w1", "Shop")})
	r.state(topic.Stream("w1", "sales"), topic.Created{Topic: "sales", UserIDs: []string{"ann", "bob"}})
	_, before := topicsOf(t, h, "w1", "ann")

	r.state(user.Stream("ann"), user.Deleted{UserID: "ann"})
	names, after := topicsOf(t, h, "w1", "ann")
	require.Empty(t, names)
	require.Greater(t, after, before)
	r.state(topic.Stream("w1", "sales"), topic.Joined{Topic: "sales", User: topic.User{ID: "ann"}})
	names, _ = topicsOf(t, h, "w1", "ann")
	require.Empty(t, names, "an account does not come back")

	r.state(workspace.Stream("w1"), workspace.Deleted{})
	names, _ = topicsOf(t, h, "w1", "bob")
	require.Empty(t, names)
	r.state(workspace.Stream("w1"), workspace.Undeleted{})
	names, _ = topicsOf(t, h, "w1", "bob")
	require.Equal(t, []string{"sales"}, names)
}
