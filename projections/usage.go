package projections

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/distinct"
	"svc/domain/feed"
)

// Usage is the read model of how much workspaces are used: the different transactions,
// sessions and users of each day, and the metrics that apps and the platform itself report. Days are those of UTC.
//
//	g{workspace}\0{group}            the day of the interactions of one message
//	i{workspace}\0{day}{group}       these interactions: when, and each id that counts
//	s{workspace}\0{seq}              the day of a report
//	u{workspace}\0{day}{seq}         the report, JSON
//	m{workspace}\0{day}              the sums of all reports of the day, JSON
//
// Ids are hashes. How many different ones there were is counted when somebody asks. A group is
// the events of one message, see Feed.
type Usage struct{}

// Name implements Projection.
func (Usage) Name() string { return "usage.4" }

// Log implements Projection.
func (Usage) Log() domain.Log { return domain.Activity }

// Apply implements Projection.
func (u Usage) Apply(tx Tx, ev domain.Recorded) error { return u.ApplyGroup(tx, []domain.Recorded{ev}) }

// ApplyGroup implements Grouped.
func (u Usage) ApplyGroup(tx Tx, events []domain.Recorded) error {
	var added []byte
	for _, ev := range events {
		switch e := ev.Data.(type) {
		case activity.Interaction:
			added = appendInteraction(added, ev, e.Trigger.Type)
			continue
		case activity.Dropped:
			if err := u.drop(tx, e); err != nil {
				return err
			}
			continue
		}
		if report, ok := parseUsageReport(ev); ok {
			if err := u.addReport(tx, ev, report); err != nil {
				return err
			}
		}
	}
	if added == nil {
		return nil
	}
	workspaceID, group, day := events[0].Stream.Scope, groupOf(events[0]), dayOf(events[0].At)
	key := usageKey('i', workspaceID, day, group)
	row, err := tx.getOfMessage(key)
	if err != nil {
		return err
	}
	if err := tx.Set(scopedKey('g', workspaceID, seqKey(group)), dayKey(day)); err != nil {
		return err
	}
	return tx.Set(key, append(row, added...))
}

// The kinds of ids that are counted.
const (
	kindTransaction byte = 't'
	kindHTTP        byte = 'h'
	kindEvent       byte = 'e'
	kindSchedule    byte = 's'
	kindSession     byte = 'S'
	kindUser        byte = 'U'
)

// An id that is counted is stored as its kind and its hash.
const (
	hashLength = 8
	idLength   = 1 + hashLength
)

// appendInteraction appends an interaction to the row of its group: the distance of its sequence from
// that of the group, the time of day, how many ids follow, and the ids that it counts for.
func appendInteraction(row []byte, ev domain.Recorded, trigger string) []byte {
	row = append(row, byte(groupOf(ev)-ev.Seq))
	row = binary.BigEndian.AppendUint32(row, uint32(ev.At.Sub(startOf(dayOf(ev.At))).Milliseconds()))
	count := len(row)
	row = append(row, 0)
	text := make([]byte, 0, 64)
	add := func(kind byte, id string) {
		if id != "" {
			sum := sha256.Sum256(append(text[:0], id...))
			row = append(append(row, kind), sum[:hashLength]...)
			row[count]++
		}
	}
	m := ev.Meta
	add(kindTransaction, m.CorrelationID)
	switch trigger {
	case activity.ByEndpoint:
		add(kindHTTP, m.CorrelationID)
	case activity.ByEvent:
		add(kindEvent, m.CorrelationID)
	case activity.BySchedule:
		add(kindSchedule, m.CorrelationID)
	}
	add(kindSession, m.SessionID)
	add(kindUser, m.UserID)
	return row
}

// interactionHead is the length of an interaction without its ids.
const interactionHead = 1 + 4 + 1

// eachInteraction visits the interactions in the row of a group: one is its bytes, ids those of its ids.
func eachInteraction(group uint64, row []byte, visit func(seq uint64, millis uint32, one, ids []byte)) error {
	for len(row) > 0 {
		if len(row) < interactionHead {
			return errInteractions
		}
		end := interactionHead + int(row[interactionHead-1])*idLength
		if len(row) < end {
			return errInteractions
		}
		visit(group-uint64(row[0]), binary.BigEndian.Uint32(row[1:]), row[:end], row[interactionHead:end])
		row = row[end:]
	}
	return nil
}

var errInteractions = errors.New("usage: a row of interactions is damaged")

// drop removes erased events.
func (u Usage) drop(tx Tx, gone activity.Dropped) error {
	touched := activity.Dropped{WorkspaceID: gone.WorkspaceID, From: gone.From, To: lastGroupWith(gone.To)}
	err := eachErased(tx, 'g', touched, func(key, value []byte) error {
		if len(value) != 4 {
			return fmt.Errorf("usage: %q has no day", key)
		}
		return u.dropInteractions(tx, gone, binary.BigEndian.Uint64(key[len(key)-8:]), binary.BigEndian.Uint32(value))
	})
	if err != nil {
		return err
	}
	days := map[uint32]bool{}
	err = eachErased(tx, 's', gone, func(key, value []byte) error {
		if len(value) != 4 {
			return fmt.Errorf("usage: %q has no day", key)
		}
		day := binary.BigEndian.Uint32(value)
		days[day] = true
		return deleteKeys(tx, key, usageKey('u', gone.WorkspaceID, day, binary.BigEndian.Uint64(key[len(key)-8:])))
	})
	for day := range days {
		if err == nil {
			err = u.rebuildDay(tx, gone.WorkspaceID, day)
		}
	}
	return err
}

// dropInteractions removes the erased interactions of a group.
func (Usage) dropInteractions(tx Tx, gone activity.Dropped, group uint64, day uint32) error {
	key := usageKey('i', gone.WorkspaceID, day, group)
	row, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	var left []byte
	err = eachInteraction(group, row, func(seq uint64, _ uint32, one, _ []byte) {
		if seq < gone.From || seq > gone.To {
			left = append(left, one...)
		}
	})
	switch {
	case err != nil || len(left) == len(row):
		return err
	case left == nil:
		return deleteKeys(tx, key, scopedKey('g', gone.WorkspaceID, seqKey(group)))
	}
	return tx.Set(key, left)
}

const dayLength = 24 * time.Hour

// dayOf returns the number of the day of a time.
func dayOf(at time.Time) uint32 { return uint32(max(0, at.Unix()) / int64(dayLength/time.Second)) }

// startOf returns the first moment of a day.
func startOf(day uint32) time.Time {
	return time.Unix(int64(day)*int64(dayLength/time.Second), 0).UTC()
}

func dayKey(day uint32) []byte { return binary.BigEndian.AppendUint32(nil, day) }

func usageKey(space byte, workspaceID string, day uint32, seq uint64) []byte {
	return scopedKey(space, workspaceID, append(dayKey(day), seqKey(seq)...))
}

// maxExactIDs is the number of ids of a kind up to which the count is exact. Beyond, it is
// estimated within a fixed amount of memory.
const maxExactIDs = 1 << 20

// idCount counts different ids. The nil idCount has none.
type idCount struct {
	ids    []uint64 // with duplicates
	sketch *distinct.Sketch
}

func (n *idCount) add(id uint64) {
	if n.sketch != nil {
		n.sketch.Add(id)
		return
	}
	if n.ids = append(n.ids, id); len(n.ids) < 2*maxExactIDs {
		return
	}
	if n.compact(); len(n.ids) <= maxExactIDs {
		return
	}
	n.sketch = &distinct.Sketch{}
	for _, id := range n.ids {
		n.sketch.Add(id)
	}
	n.ids = nil
}

// compact removes duplicates.
func (n *idCount) compact() {
	slices.Sort(n.ids)
	n.ids = slices.Compact(n.ids)
}

// total returns how many different ids there are.
func (n *idCount) total() int {
	switch {
	case n == nil:
		return 0
	case n.sketch != nil:
		return n.sketch.Count()
	}
	n.compact()
	return len(n.ids)
}

// usageReport is one event in which an app or the platform reports metrics.
type usageReport struct {
	At       time.Time                  `json:"at"`
	App      string                     `json:"app"` // platformApp: the platform
	Instance string                     `json:"instance,omitempty"`
	Of       []string                   `json:"of,omitempty"` // what the platform reports of, besides the workspace
	Metrics  map[string]activity.Metric `json:"metrics"`
}

// platformApp has the metrics of the platform. Its instances are "", which is the workspace, and one for each language
// model, knowledge base and agent, by the prefixes below.
const (
	platformApp = ""
	ofModel     = "model:"
	ofBase      = "base:"
	ofAgent     = "agent:"
)

// parseUsageReport parses an event {instance}.usage or usage of an app instance, or usage of the platform. An event with
// such a name that was emitted by anybody else is not a report.
func parseUsageReport(ev domain.Recorded) (usageReport, bool) {
	kind, instance := ev.Data.EventType(), ev.Meta.AppInstance
	ofPlatform := instance == "" && ev.Meta.ServiceTopic != feed.Emitted && kind == activity.Usage{}.EventType()
	ofApp := instance != "" && (kind == "usage" || kind == instance+".usage")
	if _, void := ev.Data.(domain.Void); void || !ofPlatform && !ofApp {
		return usageReport{}, false
	}
	s := usageReport{At: ev.At.UTC(), App: cmp.Or(ev.Meta.AppSlug, instance), Instance: instance, Metrics: map[string]activity.Metric{}}
	var body struct{ Metrics map[string]json.RawMessage }
	if json.Unmarshal(ev.Body, &body) != nil {
		return usageReport{}, false // an event with this name and other content
	}
	if ofPlatform {
		var report activity.Usage
		if json.Unmarshal(ev.Body, &report) != nil {
			return usageReport{}, false
		}
		s.App = platformApp
		for _, of := range []struct{ prefix, name string }{{ofModel, report.Model}, {ofBase, report.KnowledgeBase}, {ofAgent, report.Agent}} {
			if of.name != "" {
				s.Of = append(s.Of, of.prefix+of.name)
			}
		}
	}
	for name, text := range body.Metrics {
		var m activity.Metric
		if json.Unmarshal(text, &m) == nil && (m.Action == "set" || m.Action == "increment") {
			s.Metrics[name] = m
		}
	}
	return s, len(s.Metrics) > 0
}

// gauge is the value of a metric: the last value that was set, and what was added since.
type gauge struct {
	Set   *float64 `json:"set,omitempty"`
	Added float64  `json:"added,omitempty"`
}

func (m gauge) value() float64 {
	if m.Set != nil {
		return addFinite(*m.Set, m.Added)
	}
	return m.Added
}

// addFinite adds two numbers, and returns a when the sum overflows.
func addFinite(a, b float64) float64 {
	if sum := a + b; !math.IsInf(sum, 0) {
		return sum
	}
	return a
}

// merge returns the gauge of two consecutive periods.
func (m gauge) merge(next gauge) gauge {
	if next.Set != nil {
		return next
	}
	m.Added = addFinite(m.Added, next.Added)
	return m
}

// gauges are the metrics of app instances and of the platform, by app, instance and name.
type gauges map[string]map[string]map[string]gauge

func (all gauges) merge(app, instance, name string, next gauge) {
	if all[app] == nil {
		all[app] = map[string]map[string]gauge{}
	}
	if all[app][instance] == nil {
		all[app][instance] = map[string]gauge{}
	}
	all[app][instance][name] = all[app][instance][name].merge(next)
}

func (all gauges) add(s usageReport) {
	for name, m := range s.Metrics {
		next := gauge{Added: m.Value}
		if m.Action == "set" {
			next = gauge{Set: &m.Value}
		}
		if next.Set == nil || len(s.Of) == 0 { // what a part is set to is not what the whole is
			all.merge(s.App, s.Instance, name, next)
		}
		for _, of := range s.Of {
			all.merge(s.App, of, name, next)
		}
	}
}

func (all gauges) addAll(others gauges) {
	for app, instances := range others {
		for instance, metrics := range instances {
			for name, m := range metrics {
				all.merge(app, instance, name, m)
			}
		}
	}
}

// maxGauges is the maximal size of the gauges of one day, in bytes. A day with more is computed
// from its reports.
const maxGauges = 16 << 10

// gaugesOmitted is stored for such a day.
const gaugesOmitted = "null"

// addReport adds a report to its day.
func (Usage) addReport(tx Tx, ev domain.Recorded, s usageReport) error {
	row, err := json.Marshal(s)
	if err != nil {
		return err
	}
	key := scopedKey('m', ev.Stream.Scope, dayKey(dayOf(ev.At)))
	value, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	if value, err = addToDay(value, s); err != nil {
		return err
	}
	day := dayOf(ev.At)
	for _, e := range []indexEntry{
		{key, value}, {scopedKey('s', ev.Stream.Scope, seqKey(ev.Seq)), dayKey(day)}, {usageKey('u', ev.Stream.Scope, day, ev.Seq), row},
	} {
		if err := tx.Set(e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

// addToDay returns the stored gauges of a day with one more report.
func addToDay(value []byte, s usageReport) ([]byte, error) {
	if string(value) == gaugesOmitted {
		return value, nil
	}
	day := gauges{}
	if value != nil {
		if err := json.Unmarshal(value, &day); err != nil {
			return nil, err
		}
	}
	day.add(s)
	value, err := json.Marshal(day)
	if len(value) > maxGauges {
		return []byte(gaugesOmitted), err
	}
	return value, err
}

// rebuildDay computes the gauges of a day again from the reports that are left: subtracting
// floating-point numbers does not restore the old sum.
func (Usage) rebuildDay(tx Tx, workspaceID string, day uint32) error {
	var value []byte
	err := tx.Iterate(Span{Prefix: scopedKey('u', workspaceID, dayKey(day))}, func(_, row []byte) (bool, error) {
		var s usageReport
		err := json.Unmarshal(row, &s)
		if err == nil {
			value, err = addToDay(value, s)
		}
		return err == nil && string(value) != gaugesOmitted, err
	})
	if err != nil {
		return err
	}
	key := scopedKey('m', workspaceID, dayKey(day))
	if value == nil {
		return tx.Delete(key)
	}
	return tx.Set(key, value)
}

// UsageTotal has the numbers of distinct transactions, sessions and users.
type UsageTotal struct {
	Transactions         int `json:"transactions"`
	HTTPTransactions     int `json:"httpTransactions"`
	EventTransactions    int `json:"eventTransactions"`
	ScheduleTransactions int `json:"scheduleTransactions"`
	Sessions             int `json:"sessions"`
	Users                int `json:"users"`
}

// UsageSum is how much a workspace was used in a period.
type UsageSum struct {
	Total     UsageTotal
	Custom    map[string]float64 // metrics of the platform, by name
	Apps      []AppUsage
	Knowledge KnowledgeUsage
}

// KnowledgeUsage has the metrics of the platform by name, for each language model, knowledge base and agent.
type KnowledgeUsage struct {
	Models         map[string]map[string]float64 `json:"models"`
	KnowledgeBases map[string]map[string]float64 `json:"knowledgeBases"`
	Agents         map[string]map[string]float64 `json:"agents"`
}

// CustomUsage has the values of the metrics that apps report, by name.
type CustomUsage struct {
	Custom map[string]float64 `json:"custom"`
}

// AppUsage is the usage of an app and its instances.
type AppUsage struct {
	Slug      string          `json:"slug"`
	Total     CustomUsage     `json:"total"`
	Instances []InstanceUsage `json:"appInstances,omitempty"`
}

// InstanceUsage is the usage of an app instance.
type InstanceUsage struct {
	Slug  string      `json:"slug"`
	Total CustomUsage `json:"total"`
}

// Sum returns the usage of a workspace from a time to another, which is not included.
func (u Usage) Sum(r Reader, workspaceID string, from, to time.Time) (UsageSum, error) {
	s := usageSum{usage: u, r: r, workspaceID: workspaceID, ids: map[byte]*idCount{}, gauges: gauges{}}
	first, last := dayOf(from), dayOf(to)
	var err error
	if from.After(startOf(first)) {
		err = s.addPart(first, from, to)
		first++
	}
	if err == nil && first < last {
		err = s.addWholeDays(first, last)
	}
	if err == nil && first <= last && to.After(startOf(last)) {
		err = s.addPart(last, from, to)
	}
	return UsageSum{Total: s.total(), Custom: s.values(""), Apps: s.apps(), Knowledge: s.knowledge()}, err
}

// Tokens returns how many tokens of language models a workspace has used on the day of a time.
func (u Usage) Tokens(r Reader, workspaceID string, at time.Time) (float64, error) {
	s := usageSum{usage: u, r: r, workspaceID: workspaceID, gauges: gauges{}}
	err := s.addDays(dayOf(at), dayOf(at)+1)
	used := s.values("")
	return used[activity.PromptTokens] + used[activity.CompletionTokens] + used[activity.EmbeddingTokens], err
}

// usageSum adds up usage, in the order of time.
type usageSum struct {
	usage       Usage
	r           Reader
	workspaceID string
	ids         map[byte]*idCount // by kind
	gauges      gauges
}

// addIDs adds the ids of an interaction.
func (s *usageSum) addIDs(ids []byte) {
	for ; len(ids) > 0; ids = ids[idLength:] {
		n := s.ids[ids[0]]
		if n == nil {
			n = &idCount{}
			s.ids[ids[0]] = n
		}
		n.add(binary.BigEndian.Uint64(ids[1:]))
	}
}

// addInteractions adds the interactions of days from first on, without last, that are from a time on, up to another.
func (s *usageSum) addInteractions(first, last uint32, from, to time.Time) error {
	return s.iterateDays('i', first, last, func(day uint32, group, row []byte) error {
		midnight := startOf(day)
		return eachInteraction(binary.BigEndian.Uint64(group), row, func(_ uint64, millis uint32, _, ids []byte) {
			if at := midnight.Add(time.Duration(millis) * time.Millisecond); !at.Before(from) && at.Before(to) {
				s.addIDs(ids)
			}
		})
	})
}

// addWholeDays adds the days from first on, without last.
func (s *usageSum) addWholeDays(first, last uint32) error {
	if err := s.addInteractions(first, last, startOf(first), startOf(last)); err != nil {
		return err
	}
	return s.addDays(first, last)
}

// addDays adds the reports of the days from first on, without last.
func (s *usageSum) addDays(first, last uint32) error {
	type ofDay struct {
		day   uint32
		value []byte
	}
	var all []ofDay
	err := s.iterateDays('m', first, last, func(day uint32, _, value []byte) error {
		all = append(all, ofDay{day, slices.Clone(value)})
		return nil
	})
	for _, day := range all {
		if err != nil {
			break
		}
		if string(day.value) == gaugesOmitted {
			err = s.addReports(day.day, startOf(day.day), startOf(day.day+1))
			continue
		}
		var sums gauges
		err = json.Unmarshal(day.value, &sums)
		s.gauges.addAll(sums)
	}
	return err
}

// iterateDays visits the keys of a space that are of days from first on, without last; rest
// is what follows the day.
func (s *usageSum) iterateDays(space byte, first, last uint32, visit func(day uint32, rest, value []byte) error) error {
	prefix := scopedKey(space, s.workspaceID, nil)
	span := Span{Prefix: prefix, From: scopedKey(space, s.workspaceID, dayKey(first))}
	return s.r.Iterate(s.usage, span, func(key, value []byte) (bool, error) {
		rest := key[len(prefix):]
		day := binary.BigEndian.Uint32(rest)
		if day >= last {
			return false, nil
		}
		err := visit(day, rest[4:], value)
		return err == nil, err
	})
}

// addPart adds the part of a day from a time to another.
func (s *usageSum) addPart(day uint32, from, to time.Time) error {
	err := s.addInteractions(day, day+1, from, to)
	if err != nil {
		return err
	}
	return s.addReports(day, from, to)
}

// addReports adds the reports of a day from a time to another.
func (s *usageSum) addReports(day uint32, from, to time.Time) error {
	return s.iterateDays('u', day, day+1, func(_ uint32, _, row []byte) error {
		var one usageReport
		if err := json.Unmarshal(row, &one); err != nil {
			return err
		}
		if at := one.At.Truncate(time.Millisecond); !at.Before(from) && at.Before(to) {
			s.gauges.add(one)
		}
		return nil
	})
}

// total returns the numbers of distinct ids.
func (s *usageSum) total() UsageTotal {
	different := func(kind byte) int { return s.ids[kind].total() }
	return UsageTotal{
		Transactions: different(kindTransaction), HTTPTransactions: different(kindHTTP), EventTransactions: different(kindEvent),
		ScheduleTransactions: different(kindSchedule), Sessions: different(kindSession), Users: different(kindUser),
	}
}

// apps lists the metrics by app and instance.
func (s *usageSum) apps() []AppUsage {
	list := []AppUsage{}
	for _, slug := range slices.Sorted(maps.Keys(s.gauges)) {
		if slug == platformApp {
			continue
		}
		app := AppUsage{Slug: slug, Total: CustomUsage{map[string]float64{}}}
		for _, name := range slices.Sorted(maps.Keys(s.gauges[slug])) {
			instance := InstanceUsage{Slug: name, Total: CustomUsage{map[string]float64{}}}
			for metric, m := range s.gauges[slug][name] {
				instance.Total.Custom[metric] = m.value()
				app.Total.Custom[metric] = addFinite(app.Total.Custom[metric], m.value())
			}
			app.Instances = append(app.Instances, instance)
		}
		list = append(list, app)
	}
	return list
}

// values returns the metrics of the platform for what a report was of.
func (s *usageSum) values(of string) map[string]float64 {
	values := map[string]float64{}
	for name, m := range s.gauges[platformApp][of] {
		values[name] = m.value()
	}
	return values
}

// knowledge returns the metrics of the platform by what they are of.
func (s *usageSum) knowledge() KnowledgeUsage {
	all := KnowledgeUsage{map[string]map[string]float64{}, map[string]map[string]float64{}, map[string]map[string]float64{}}
	for of := range s.gauges[platformApp] {
		for prefix, into := range map[string]map[string]map[string]float64{ofModel: all.Models, ofBase: all.KnowledgeBases, ofAgent: all.Agents} {
			if name, ok := strings.CutPrefix(of, prefix); ok {
				into[name] = s.values(of)
			}
		}
	}
	return all
}
