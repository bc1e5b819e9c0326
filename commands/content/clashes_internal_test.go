package content

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/domaintest"
	"svc/domain/workspace"
)

// What is dropped lets its predecessor stay, which is in the way of the one
// before it, and so on through all of them.
func TestClashesOfManyDocumentsTakeNoTime(t *testing.T) {
	const many = 5000
	path := func(i int) string { return fmt.Sprintf("automations/a%d", i) }
	var p plan
	items := map[string]workspace.Item{"automations/other": {Endpoint: "taken"}}
	for i := range many {
		items[path(i)] = workspace.Item{Endpoint: fmt.Sprintf("e%d", i)}
		endpoint := fmt.Sprintf("e%d", i+1)
		if i == many-1 {
			endpoint = "taken"
		}
		p.put(workspace.Entry{Path: path(i), Hash: "new", Endpoint: endpoint}, nil)
	}
	p.of.Items = workspace.NewItems(items)
	p.put(workspace.Entry{Path: "automations/free", Hash: "new", Endpoint: "free"}, nil)
	p.put(workspace.Entry{Path: "automations/OTHER", Hash: "new"}, nil)
	require.Less(t, domaintest.MeasureEffort(t, func() { p.dropConflicting() }), time.Second)
	require.Len(t, p.to.Entries, 1)
	require.Equal(t, []string{"automations/free"}, p.imported)
	require.Len(t, p.errors, many+1)
}

func TestOfTwoWithOneEndpointTheFirstIsKept(t *testing.T) {
	p := plan{of: workspace.State{Items: workspace.NewItems(map[string]workspace.Item{"automations/b": {Endpoint: "old"}, "automations/gone": {Endpoint: "left"}})}}
	p.put(workspace.Entry{Path: "automations/a", Hash: "new", Endpoint: "same"}, nil)
	p.put(workspace.Entry{Path: "automations/b", Hash: "new", Endpoint: "same"}, nil)
	p.put(workspace.Entry{Path: "automations/c", Hash: "new", Endpoint: "left"}, nil)
	p.put(workspace.Entry{Path: "automations/d", Hash: "new", Endpoint: "old"}, nil)
	p.drop("automations/gone")
	p.dropConflicting()
	require.Equal(t, []string{"automations/a", "automations/c"}, p.imported, "b stays as it is, and so does its endpoint")
	require.Len(t, p.errors, 2)
}
