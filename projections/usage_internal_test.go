package projections

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/feed"
)

// bench is the read model of usage by itself: the log gives events its own time, and
// here they have theirs.
type bench struct {
	t   *testing.T
	db  *badger.DB
	gen *generation
}

func newBench(t *testing.T) *bench {
	t.Helper()
	db, err := badger.Open(badger.DefaultOptions(t.TempDir()).WithLogger(nil).WithMemTableSize(8 << 20))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &bench{t, db, newGeneration(1, []Projection{Usage{}})}
}

func (b *bench) apply(events ...domain.Recorded) {
	b.t.Helper()
	for _, ev := range events {
		b.applyGroup([]domain.Recorded{ev})
	}
}

func (b *bench) applyGroup(events []domain.Recorded) {
	b.t.Helper()
	require.NoError(b.t, b.db.Update(func(txn *badger.Txn) error {
		return Usage{}.ApplyGroup(Tx{keys: txnKeys{txn: txn}, area: b.gen.areas[Usage{}.Name()]}, events)
	}), "%+v", events)
}

// sum returns the usage of w1 between two times.
func (b *bench) sum(from, to time.Time) (total UsageTotal, apps []AppUsage) {
	b.t.Helper()
	sum := b.sumAll(from, to)
	return sum.Total, sum.Apps
}

func (b *bench) sumAll(from, to time.Time) (sum UsageSum) {
	b.t.Helper()
	require.NoError(b.t, b.db.View(func(txn *badger.Txn) (err error) {
		sum, err = Usage{}.Sum(Reader{txn, b.gen}, "w1", from, to)
		return err
	}))
	return sum
}

// rows returns everything that is stored.
func (b *bench) rows() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	require.NoError(b.t, b.db.View(func(txn *badger.Txn) error {
		return iterate(txn, nil, Span{}, func(key, value []byte) (bool, error) {
			all[string(key)] = string(value)
			return true, nil
		})
	}))
	return all
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func interaction(seq uint64, when, trigger, correlation, session, user string) domain.Recorded {
	return domain.Recorded{
		Log: domain.Activity, Seq: seq, At: at(when), Stream: domain.StreamID{Scope: "w1"},
		Meta: domain.Meta{CorrelationID: correlation, SessionID: session, UserID: user},
		Data: activity.Interaction{WorkspaceID: "w1", Trigger: activity.Trigger{Type: trigger}},
	}
}

func usageEvent(seq uint64, when, kind string, meta domain.Meta, metrics string) domain.Recorded {
	body := json.RawMessage(`{"metrics":` + metrics + `}`)
	return domain.Recorded{
		Log: domain.Activity, Seq: seq, At: at(when), Stream: domain.StreamID{Scope: "w1"}, Meta: meta,
		Data: domain.Unknown{Name: kind, Body: body}, Body: body,
	}
}

func TestUsageCountsWhatIsDifferent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply(
		interaction(1, "2026-03-01T10:00:00Z", activity.ByEndpoint, "c1", "s1", "ada"),
		interaction(2, "2026-03-01T10:00:01Z", activity.ByAutomation, "c1", "s1", "ada"),
		interaction(3, "2026-03-01T23:59:59.999Z", activity.ByEvent, "c1", "s1", ""),
		interaction(4, "2026-03-02T00:00:00Z", activity.ByEvent, "c1", "s1", "ada"),
		interaction(5, "2026-03-02T09:00:00Z", activity.BySchedule, "c2", "", ""),
		interaction(6, "2026-03-02T12:00:00Z", activity.ByPage, "c3", "s2", "bob"),
		interaction(7, "2026-03-04T12:00:00Z", activity.ByTest, "", "", "bob"),
	)
	other := interaction(8, "2026-03-01T10:00:00Z", activity.ByEndpoint, "c9", "s9", "eve")
	other.Stream.Scope = "w2"
	b.apply(other)
	for _, c := range []struct {
		from, to string
		want     UsageTotal
	}{
		{"2026-03-01T00:00:00Z", "2026-03-05T00:00:00Z", UsageTotal{3, 1, 1, 1, 2, 2}},
		{"2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", UsageTotal{1, 1, 1, 0, 1, 1}},
		{"2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z", UsageTotal{3, 0, 1, 1, 2, 2}},
		{"2026-03-01T10:00:01Z", "2026-03-01T23:00:00Z", UsageTotal{1, 0, 0, 0, 1, 1}},
		{"2026-03-01T10:00:01Z", "2026-03-02T09:00:00Z", UsageTotal{1, 0, 1, 0, 1, 1}},
		{"2026-03-01T12:00:00Z", "2026-03-02T12:00:01Z", UsageTotal{3, 0, 1, 1, 2, 2}},
		{"2026-02-01T12:00:00Z", "2026-03-02T09:00:01Z", UsageTotal{2, 1, 1, 1, 1, 1}},
		{"2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z", UsageTotal{}},
		{"2026-03-04T00:00:00Z", "2026-03-04T12:00:01Z", UsageTotal{Users: 1}},
		{"2025-03-01T00:00:00Z", "2026-03-01T00:00:00Z", UsageTotal{}},
		{"0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z", UsageTotal{3, 1, 1, 1, 2, 2}},
	} {
		total, apps := b.sum(at(c.from), at(c.to))
		require.Equal(t, c.want, total, "%s to %s", c.from, c.to)
		require.Equal(t, []AppUsage{}, apps)
	}
}

func TestUsageSumsWhatAppsSay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pay := domain.Meta{AppSlug: "payments", AppInstance: "pay"}
	b.apply(
		usageEvent(1, "2026-03-01T10:00:00Z", "pay.usage", pay, `{"calls":{"value":2,"action":"increment"},"seats":{"value":9,"action":"set"}}`),
		usageEvent(2, "2026-03-01T11:00:00Z", "pay.usage", pay, `{"calls":{"value":0.5,"action":"increment"},"seats":{"value":4,"action":"set"}}`),
		usageEvent(3, "2026-03-02T10:00:00Z", "usage", domain.Meta{AppSlug: "payments", AppInstance: "pay.eu"}, `{"calls":{"value":10,"action":"increment"}}`),
		usageEvent(4, "2026-03-03T10:00:00Z", "pay.usage", pay, `{"seats":{"value":1,"action":"increment"}}`),
		usageEvent(5, "2026-03-03T11:00:00Z", "mail.usage", domain.Meta{AppInstance: "mail"}, `{"sent":{"value":1,"action":"increment"},"odd":{"value":"x","action":"set"},"other":{"value":1,"action":"multiply"}}`),
		usageEvent(6, "2026-03-03T12:00:00Z", "usage", domain.Meta{ServiceTopic: feed.Emitted}, `{"of nobody":{"value":1,"action":"increment"}}`),
		usageEvent(7, "2026-03-03T12:00:00Z", "mail.usage", domain.Meta{AppInstance: "mail"}, `"words"`),
		usageEvent(8, "2026-03-03T12:00:00Z", "mail.usages", domain.Meta{AppInstance: "mail"}, `{"sent":{"value":1,"action":"increment"}}`),
		usageEvent(9, "2026-03-03T12:00:00Z", "mail.usage", domain.Meta{}, `{"sent":{"value":99,"action":"increment"}}`), // forged
		usageEvent(10, "2026-03-03T12:00:00Z", "mail.usage", pay, `{"sent":{"value":99,"action":"increment"}}`),
	)
	custom := func(pairs ...any) CustomUsage {
		c := CustomUsage{map[string]float64{}}
		for i := 0; i < len(pairs); i += 2 {
			c.Custom[pairs[i].(string)] = pairs[i+1].(float64)
		}
		return c
	}
	_, apps := b.sum(at("2026-03-01T00:00:00Z"), at("2026-03-04T00:00:00Z"))
	require.Equal(t, []AppUsage{
		{"mail", custom("sent", 1.0), []InstanceUsage{{"mail", custom("sent", 1.0)}}},
		{"payments", custom("calls", 12.5, "seats", 5.0), []InstanceUsage{{"pay", custom("calls", 2.5, "seats", 5.0)}, {"pay.eu", custom("calls", 10.0)}}},
	}, apps)
	_, apps = b.sum(at("2026-03-01T10:30:00Z"), at("2026-03-02T00:00:00Z"))
	require.Equal(t, []AppUsage{{"payments", custom("calls", 0.5, "seats", 4.0), []InstanceUsage{{"pay", custom("calls", 0.5, "seats", 4.0)}}}}, apps)
	_, apps = b.sum(at("2026-03-03T00:00:00Z"), at("2026-03-03T10:30:00Z"))
	require.Equal(t, []AppUsage{{"payments", custom("seats", 1.0), []InstanceUsage{{"pay", custom("seats", 1.0)}}}}, apps)
}

func TestUsageSumsWhatThePlatformReports(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	report := func(seq uint64, when string, meta domain.Meta, u activity.Usage) domain.Recorded {
		body, err := json.Marshal(u)
		require.NoError(t, err)
		ev := usageEvent(seq, when, "usage", meta, "{}")
		ev.Body, ev.Data = body, domain.Unknown{Name: "usage", Body: body}
		return ev
	}
	asked := activity.Usage{KnowledgeBase: "faq", Model: "default/chat", Metrics: activity.Increments(map[string]int{activity.Questions: 1, activity.PromptTokens: 100, activity.CompletionTokens: 7})}
	b.apply(
		report(1, "2026-03-01T10:00:00Z", domain.Meta{UserID: "ada"}, asked),
		report(2, "2026-03-02T10:00:00Z", domain.Meta{}, asked),
		report(3, "2026-03-02T11:00:00Z", domain.Meta{}, activity.Usage{KnowledgeBase: "other", Metrics: activity.Increments(map[string]int{activity.Queries: 5, activity.EmbeddingTokens: 3})}),
		report(4, "2026-03-02T12:00:00Z", domain.Meta{}, activity.Usage{Agent: "helper", Model: "default/chat", Metrics: activity.Increments(map[string]int{activity.PromptTokens: 1})}),
		report(5, "2026-03-02T12:00:00Z", domain.Meta{ServiceTopic: feed.Emitted}, asked), // forged
		usageEvent(6, "2026-03-02T13:00:00Z", "usage", domain.Meta{}, `"words"`),
	)
	sum := b.sumAll(at("2026-03-01T00:00:00Z"), at("2026-03-03T00:00:00Z"))
	require.Empty(t, sum.Apps)
	require.Equal(t, map[string]float64{"knowledge.questions": 2, "knowledge.queries": 5, "tokens.prompt": 201, "tokens.completion": 14, "tokens.embedding": 3}, sum.Custom)
	require.Equal(t, KnowledgeUsage{
		Models: map[string]map[string]float64{"default/chat": {"knowledge.questions": 2, "tokens.prompt": 201, "tokens.completion": 14}},
		KnowledgeBases: map[string]map[string]float64{
			"faq": {"knowledge.questions": 2, "tokens.prompt": 200, "tokens.completion": 14}, "other": {"knowledge.queries": 5, "tokens.embedding": 3},
		},
		Agents: map[string]map[string]float64{"helper": {"tokens.prompt": 1}},
	}, sum.Knowledge)
	require.Equal(t, map[string]float64{"tokens.prompt": 1}, b.sumAll(at("2026-03-02T11:30:00Z"), at("2026-03-02T23:00:00Z")).Custom)
	require.NoError(t, b.db.View(func(txn *badger.Txn) error {
		used, err := Usage{}.Tokens(Reader{txn, b.gen}, "w1", at("2026-03-02T09:00:00Z"))
		require.InDelta(t, 111, used, 0)
		return err
	}))
	b.apply(domain.Recorded{Seq: 1000, Log: domain.Activity, Data: activity.Dropped{WorkspaceID: "w1", From: 1, To: 999}})
	require.Empty(t, b.rows())
}

func TestADayOfManyMetricsIsReadFromItsEvents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 600 {
		b.apply(usageEvent(uint64(i+1), "2026-03-01T10:00:00Z", "pay.usage", domain.Meta{AppInstance: "pay"}, fmt.Sprintf(`{"metric-%03d":{"value":1,"action":"increment"},"all":{"value":1e308,"action":"increment"}}`, i)))
	}
	for key, value := range b.rows() {
		require.LessOrEqual(t, len(value), maxGauges, "%q", key)
	}
	_, apps := b.sum(at("2026-03-01T00:00:00Z"), at("2026-03-02T00:00:00Z"))
	require.Len(t, apps[0].Total.Custom, 601)
	require.InDelta(t, 1e308, apps[0].Total.Custom["all"], 0, "what no number can hold is not added")

	dropped := domain.Recorded{Seq: 1000, Log: domain.Activity, Data: activity.Dropped{WorkspaceID: "w1", From: 1, To: 590}}
	b.apply(dropped)
	_, apps = b.sum(at("2026-03-01T00:00:00Z"), at("2026-03-02T00:00:00Z"))
	require.Len(t, apps[0].Total.Custom, 11)
	b.apply(domain.Recorded{Seq: 1001, Log: domain.Activity, Data: activity.Dropped{WorkspaceID: "w1", From: 591, To: 999}})
	require.Empty(t, b.rows())
}

// Whatever happened and whatever was erased: the model is the one that is made of what
// is left, to the byte.
func TestUsageOfAPurgedLogIsTheSame(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	for range 5 {
		live, kept := newBench(t), map[uint64]domain.Recorded{}
		day := at("2026-03-01T00:00:00Z")
		for seq := uint64(1); seq <= 300; seq++ {
			group := (seq + 3) / 4 * 4 // four events in a message, which has one time
			when := day.Add(time.Duration(group) * 20 * time.Minute).Format(time.RFC3339)
			id := func(prefix string) string { return fmt.Sprintf("%s%d", prefix, random.IntN(20)) }
			ev := interaction(seq, when, []string{activity.ByEndpoint, activity.ByEvent, activity.ByTest}[random.IntN(3)], id("c"), id("s"), id("u"))
			switch random.IntN(20) {
			case 0:
				from := uint64(random.IntN(int(seq)))
				to := from + uint64(random.IntN(60))
				ev = domain.Recorded{Seq: seq, Log: domain.Activity, Stream: domain.StreamID{Scope: "w1"}, Data: activity.Dropped{WorkspaceID: "w1", From: from, To: min(to, seq-1)}}
				maps.DeleteFunc(kept, func(at uint64, old domain.Recorded) bool {
					_, drops := old.Data.(activity.Dropped)
					return !drops && at >= from && at <= min(to, seq-1)
				})
			case 1, 2, 3, 4, 5:
				action := []string{"set", "increment"}[random.IntN(2)]
				app := id("app")
				ev = usageEvent(seq, when, app+".usage", domain.Meta{AppInstance: app}, fmt.Sprintf(`{"%s":{"value":%v,"action":"%s"}}`, id("m"), random.Float64(), action))
			}
			ev.Group, ev.At = group, at(when)
			kept[seq] = ev
			live.apply(ev)
		}
		rebuilt, message := newBench(t), []domain.Recorded(nil)
		for _, seq := range slices.Sorted(maps.Keys(kept)) {
			if len(message) > 0 && message[0].Group != kept[seq].Group {
				rebuilt.applyGroup(message)
				message = nil
			}
			message = append(message, kept[seq])
		}
		rebuilt.applyGroup(message)
		require.Equal(t, rebuilt.rows(), live.rows())

		from, to := day.Add(time.Duration(random.IntN(50))*time.Hour), day.Add(time.Duration(50+random.IntN(50))*time.Hour)
		total, _ := live.sum(from, to)
		require.Equal(t, differentUsers(kept, from, to), total.Users)
	}
}

// differentUsers counts the plain way.
func differentUsers(events map[uint64]domain.Recorded, from, to time.Time) int {
	users := map[string]bool{}
	for _, ev := range events {
		if _, ok := ev.Data.(activity.Interaction); ok && !ev.At.Before(from) && ev.At.Before(to) {
			users[ev.Meta.UserID] = true
		}
	}
	return len(users)
}

func TestOneDropStaysSmall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 1000 {
		b.apply(interaction(uint64(i+1), "2026-03-01T10:00:00Z", activity.ByEndpoint, fmt.Sprint("c", i), fmt.Sprint("s", i), fmt.Sprint("u", i)))
	}
	size := 0
	require.NoError(t, b.db.Update(func(txn *badger.Txn) error {
		keys := &writeMeter{keys: txnKeys{txn: txn}, size: &size}
		return Usage{}.Apply(Tx{keys: keys, area: b.gen.areas[Usage{}.Name()]}, domain.Recorded{Data: activity.Dropped{WorkspaceID: "w1", From: 1, To: 1000}})
	}))
	require.Less(t, size, 1<<20)
	require.Empty(t, b.rows())
}

// writeMeter adds up what is written.
type writeMeter struct {
	keys
	size *int
}

func (w *writeMeter) set(key, value []byte) error {
	*w.size += len(key) + len(value)
	return w.keys.set(bytes.Clone(key), value)
}

func (w *writeMeter) delete(key []byte) error {
	*w.size += len(key)
	return w.keys.delete(key)
}

func TestIDsAreCountedExactlyUpToAMillion(t *testing.T) {
	t.Parallel()
	var none *idCount
	require.Zero(t, none.total())
	random, n := rand.New(rand.NewPCG(3, 4)), &idCount{}
	first := make([]uint64, maxExactIDs)
	for i := range first {
		first[i] = random.Uint64()
	}
	for range 3 { // however often they come
		for _, id := range first {
			n.add(id)
		}
	}
	require.Equal(t, maxExactIDs, n.total())
	for range maxExactIDs + 1 {
		n.add(random.Uint64())
	}
	require.Nil(t, n.ids, "more are not kept")
	require.InEpsilon(t, 2*maxExactIDs, n.total(), 0.03)
}
