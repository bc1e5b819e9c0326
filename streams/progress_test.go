package streams_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/streams"
)

func TestAShareIsAsFarAsItsOwnPlaceOrAllOfTheOtherDivision(t *testing.T) {
	t.Parallel()
	at := func(state, activity uint64) domain.Position { return domain.Position{State: state, Activity: activity} }
	all := func(p domain.Position, but map[int]domain.Position) map[int]domain.Position {
		places := map[int]domain.Position{}
		for number := range streams.Partitions {
			places[number] = p
		}
		for number, p := range but {
			places[number] = p
		}
		return places
	}
	store := openStore(t)
	for name, c := range map[string]struct {
		alone      *domain.Position
		many       map[int]domain.Position
		asks       int // into how many shares who asks divides
		want       domain.Position
		ever, kept bool
	}{
		"never":                      {asks: 16},
		"never-alone":                {asks: 1},
		"as-before":                  {many: all(at(1, 2), map[int]domain.Position{3: at(5, 5)}), asks: 16, want: at(5, 5), ever: true, kept: true},
		"no-longer-alone":            {alone: new(at(4, 7)), asks: 16, want: at(4, 7), ever: true},
		"alone-now":                  {many: all(at(9, 9), map[int]domain.Position{3: at(5, 20), 4: at(20, 6)}), asks: 1, want: at(5, 6), ever: true},
		"alone-again":                {alone: new(at(7, 2)), many: all(at(9, 9), map[int]domain.Position{4: at(5, 6)}), asks: 1, want: at(7, 6), ever: true, kept: true},
		"several-again":              {alone: new(at(9, 9)), many: all(at(2, 2), map[int]domain.Position{3: at(11, 2)}), asks: 16, want: at(11, 9), ever: true, kept: true},
		"some-never-alone-now":       {many: map[int]domain.Position{3: at(5, 6), 4: at(6, 5)}, asks: 1, want: at(5, 5), ever: true},
		"some-never-alone-as-before": {alone: new(at(2, 3)), many: map[int]domain.Position{3: at(5, 6)}, asks: 1, want: at(2, 3), ever: true, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBucket(t, store, name)
			put := func(shares, number int, p domain.Position) {
				_, err := b.Put(t.Context(), streams.PartitionKey(shares, number), []byte(p.Token()))
				require.NoError(t, err)
			}
			if c.alone != nil {
				put(1, 0, *c.alone)
			}
			for number, p := range c.many {
				put(16, number, p)
			}
			number := 3
			if c.asks == 1 {
				number = 0
			}
			got, ever, kept, err := streams.LoadCursor(t.Context(), b, c.asks, number, func(value []byte) (domain.Position, error) {
				return domain.ParsePosition(string(value))
			})
			require.NoError(t, err)
			require.Equal(t, []any{c.want, c.ever, c.kept}, []any{got, ever, kept})
		})
	}
}
