package projections

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// UsageTotal is how many different ones there were.
type UsageTotal struct {
	Transactions         int `json:"transactions"`
	HTTPTransactions     int `json:"httpTransactions"`
	EventTransactions    int `json:"eventTransactions"`
	ScheduleTransactions int `json:"scheduleTransactions"`
	Sessions             int `json:"sessions"`
	Users                int `json:"users"`
}

// CustomUsage is what apps say of themselves, by metric.
type CustomUsage struct {
	Custom map[string]float64 `json:"custom"`
}

// AppUsage is what the instances of an app come to.
type AppUsage struct {
	Slug      string          `json:"slug"`
	Total     CustomUsage     `json:"total"`
	Instances []InstanceUsage `json:"appInstances,omitempty"`
}

// InstanceUsage is one of them.
type InstanceUsage struct {
	Slug  string      `json:"slug"`
	Total CustomUsage `json:"total"`
}

// Sum returns the usage of a workspace from a time on, up to another.
func (u Usage) Sum(r Reader, workspaceID string, from, to time.Time) (UsageTotal, []AppUsage, error) {
	s := usageSum{usage: u, r: r, workspaceID: workspaceID, ids: map[byte]*idCount{}, gauges: gauges{}}
	first, last := dayOf(from), dayOf(to)
	var err error
	if from.After(startOf(first)) {
		err = s.part(first, from, to)
		first++
	}
	if err == nil && first < last {
		err = s.whole(first, last)
	}
	if err == nil && first <= last && to.After(startOf(last)) {
		err = s.part(last, from, to)
	}
	return s.total(), s.apps(), err
}

// usageSum is a sum that is being made, in the order of time.
type usageSum struct {
	usage       Usage
	r           Reader
	workspaceID string
	ids         map[byte]*idCount // by kind
	gauges      gauges
}

func (s *usageSum) add(id countedID) error {
	n := s.ids[id[0]]
	if n == nil {
		n = &idCount{}
		s.ids[id[0]] = n
	}
	n.add(binary.BigEndian.Uint64(id[1:]))
	return nil
}

// whole adds the days from first on, without last.
func (s *usageSum) whole(first, last uint32) error {
	err := s.days('d', first, last, true, func(_ uint32, rest, _ []byte) error { return s.add(countedID(rest)) })
	if err != nil {
		return err
	}
	type ofDay struct {
		day   uint32
		value []byte
	}
	var all []ofDay
	err = s.days('m', first, last, false, func(day uint32, _, value []byte) error {
		all = append(all, ofDay{day, slices.Clone(value)})
		return nil
	})
	for _, day := range all {
		if err != nil {
			break
		}
		if string(day.value) == tooMany {
			err = s.said(day.day, startOf(day.day), startOf(day.day+1))
			continue
		}
		var sums gauges
		err = json.Unmarshal(day.value, &sums)
		s.gauges.addAll(sums)
	}
	return err
}

// days visits the keys of a space that are of days from first on, without last; rest
// is what follows the day.
func (s *usageSum) days(space byte, first, last uint32, keysOnly bool, visit func(day uint32, rest, value []byte) error) error {
	prefix := scoped(space, s.workspaceID, nil)
	span := Span{Prefix: prefix, From: scoped(space, s.workspaceID, dayKey(first)), KeysOnly: keysOnly}
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

// part adds what happened on a day from a time on, up to another.
func (s *usageSum) part(day uint32, from, to time.Time) error {
	err := s.days('i', day, day+1, false, func(_ uint32, _, row []byte) error {
		at := startOf(day).Add(time.Duration(binary.BigEndian.Uint32(row)) * time.Millisecond)
		if at.Before(from) || !at.Before(to) {
			return nil
		}
		return eachID(row, s.add)
	})
	if err != nil {
		return err
	}
	return s.said(day, from, to)
}

// said adds what apps said on a day from a time on, up to another.
func (s *usageSum) said(day uint32, from, to time.Time) error {
	return s.days('u', day, day+1, false, func(_ uint32, _, row []byte) error {
		var one said
		if err := json.Unmarshal(row, &one); err != nil {
			return err
		}
		if at := one.At.Truncate(time.Millisecond); !at.Before(from) && at.Before(to) {
			s.gauges.add(one)
		}
		return nil
	})
}

// total counts the ids.
func (s *usageSum) total() UsageTotal {
	different := func(kind byte) int { return s.ids[kind].total() }
	return UsageTotal{
		Transactions: different(kindTransaction), HTTPTransactions: different(kindHTTP), EventTransactions: different(kindEvent),
		ScheduleTransactions: different(kindSchedule), Sessions: different(kindSession), Users: different(kindUser),
	}
}

// apps lists what the metrics come to.
func (s *usageSum) apps() []AppUsage {
	list := []AppUsage{}
	for _, slug := range slices.Sorted(maps.Keys(s.gauges)) {
		app := AppUsage{Slug: slug, Total: CustomUsage{map[string]float64{}}}
		for _, name := range slices.Sorted(maps.Keys(s.gauges[slug])) {
			instance := InstanceUsage{Slug: name, Total: CustomUsage{map[string]float64{}}}
			for metric, m := range s.gauges[slug][name] {
				instance.Total.Custom[metric] = m.value()
				app.Total.Custom[metric] = plus(app.Total.Custom[metric], m.value())
			}
			app.Instances = append(app.Instances, instance)
		}
		list = append(list, app)
	}
	return list
}
