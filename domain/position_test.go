package domain_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

func TestATokenReadsBackAsItsPosition(t *testing.T) {
	for _, p := range []domain.Position{
		{},
		{State: 1},
		{Activity: 1},
		{State: 127, Activity: 128},
		{State: 1 << 40, Activity: 3},
		{State: math.MaxUint64, Activity: math.MaxUint64},
	} {
		got, err := domain.ParsePosition(p.Token())
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
}

func TestATokenFitsIntoAnAddress(t *testing.T) {
	require.Regexp(t, `^[A-Za-z0-9_-]{1,40}$`, domain.Position{State: math.MaxUint64, Activity: math.MaxUint64}.Token())
}

func TestGarbageIsNoPosition(t *testing.T) {
	good := domain.Position{State: 300, Activity: 7}.Token()
	for name, token := range map[string]string{
		"nothing":              "",
		"a number":             "42",
		"a contentRevision":    "1234567",
		"words":                "latest",
		"a cut token":          good[:len(good)-1],
		"a token with a tail":  good + "A",
		"two tokens":           good + good,
		"another character":    "A" + good[1:],
		"padding":              good + "==",
		"a space":              " " + good,
		"standard base64":      "+/+/",
		"a sequence too large": "_________________wE",
		"control characters":   "\x00\x01\x02\x03",
		"two uvarints in one":  "gICAgICAgICAgICAgICAgICA",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := domain.ParsePosition(token)
			require.Error(t, err)
			require.True(t, p.IsZero())
		})
	}
}

// A changed character is noticed: a client that cuts or mixes up tokens is told,
// not served from somewhere else.
func TestMostDamageIsNoticed(t *testing.T) {
	good := []byte(domain.Position{State: 123456, Activity: 654321}.Token())
	noticed, tried := 0, 0
	for i := range good {
		for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
			if c == good[i] {
				continue
			}
			damaged := append([]byte(nil), good...)
			damaged[i] = c
			tried++
			if _, err := domain.ParsePosition(string(damaged)); err != nil {
				noticed++
			}
		}
	}
	require.Greater(t, float64(noticed)/float64(tried), 0.95)
}

func TestAPositionHoldsTheLaterOfBoth(t *testing.T) {
	p := domain.At(domain.State, 5).Max(domain.At(domain.Activity, 9)).Max(domain.Position{State: 3, Activity: 10})
	require.Equal(t, domain.Position{State: 5, Activity: 10}, p)
	require.Equal(t, uint64(5), p.Of(domain.State))
	require.Equal(t, uint64(10), p.Of(domain.Activity))
	require.False(t, p.IsZero())
	require.True(t, domain.Position{}.IsZero())
}

func TestTheEarlierOfTwoPositionsIsThatInEachLog(t *testing.T) {
	require.Equal(t, domain.Position{State: 3, Activity: 9}, domain.Position{State: 3, Activity: 10}.Min(domain.Position{State: 5, Activity: 9}))
}

// Whatever a client sends is refused or is a position that reads back as itself.
func FuzzParsePosition(f *testing.F) {
	f.Add("")
	f.Add("AAAA")
	f.Add(domain.Position{State: 1, Activity: 2}.Token())
	f.Add(domain.Position{State: math.MaxUint64}.Token())
	f.Fuzz(func(t *testing.T, token string) {
		p, err := domain.ParsePosition(token)
		if err != nil {
			require.True(t, p.IsZero())
			return
		}
		again, err := domain.ParsePosition(p.Token())
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}

// Every position has a token of its own.
func FuzzPositionToken(f *testing.F) {
	f.Add(uint64(0), uint64(0))
	f.Add(uint64(1), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, state, activity uint64) {
		p := domain.Position{State: state, Activity: activity}
		got, err := domain.ParsePosition(p.Token())
		require.NoError(t, err)
		require.Equal(t, p, got)
	})
}
