package domain_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

func TestTheCodeOfAnErrorIsFoundThroughItsWraps(t *testing.T) {
	locked := domain.Refuse(domain.CodeLocked, "workspace is locked by %s", "push-1")
	for name, tt := range map[string]struct {
		err  error
		want domain.Code
	}{
		"no error":                        {nil, domain.CodeNone},
		"a refusal":                       {locked, domain.CodeLocked},
		"a wrapped refusal":               {fmt.Errorf("push w1: %w", locked), domain.CodeLocked},
		"a joined refusal":                {errors.Join(errors.New("EIO"), locked), domain.CodeLocked},
		"anything else is the operator's": {errors.New("EIO"), domain.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, domain.CodeOf(tt.err)) })
	}
}

func TestARefusalSaysItsCodeAndWhy(t *testing.T) {
	err := domain.Refuse(domain.CodeLocked, "workspace is locked by %s", "push-1")
	require.EqualError(t, err, "resource_locked: workspace is locked by push-1")
	require.Nil(t, err.Details, "a refusal without details shows none")
}

func TestDetailsAddUp(t *testing.T) {
	err := domain.Refuse(domain.CodeConflict, "changed").Reason("stale").With("etag", `"1"`)
	require.Equal(t, map[string]any{"reason": "stale", "etag": `"1"`}, err.Details)
}

func TestEveryFieldAtFaultIsListed(t *testing.T) {
	name := domain.FieldError{Field: "name", Message: "is too long"}
	labels := domain.FieldError{Field: "labels", Message: "has a blank"}

	one := domain.Invalid(name)
	require.EqualError(t, one, "validation_failed: name: is too long")
	require.Equal(t, []domain.FieldError{name}, one.Details["errors"])

	two := domain.Invalid(name, labels)
	require.EqualError(t, two, "validation_failed: 2 fields are not acceptable, the first: name: is too long")
	require.Equal(t, []domain.FieldError{name, labels}, two.Details["errors"])
}
