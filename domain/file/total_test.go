package file_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/file"
)

func TestFilesOfAWorkspaceHaveATotal(t *testing.T) {
	type scenario = domaintest.Scenario[file.Total, file.TotalCommand]
	counted := func(bytes int64) []domain.Event { return []domain.Event{file.Counted{Bytes: bytes}} }
	for name, sc := range map[string]scenario{
		"the first file":                        {When: file.Count{Bytes: 3, Limit: 10}, Then: counted(3)},
		"up to the limit":                       {Given: counted(7), When: file.Count{Bytes: 3, Limit: 10}, Then: counted(10)},
		"above the limit":                       {Given: counted(7), When: file.Count{Bytes: 4, Limit: 10}, Refuse: domain.CodeQuota},
		"the first file is too large":           {When: file.Count{Bytes: 11, Limit: 10}, Refuse: domain.CodeQuota},
		"0 is no limit":                         {Given: counted(7), When: file.Count{Bytes: 1 << 50}, Then: counted(7 + 1<<50)},
		"files of before counted once":          {When: file.Count{Bytes: 1, Limit: 10, Before: 9}, Then: counted(10)},
		"files of before leave no room":         {When: file.Count{Bytes: 2, Limit: 10, Before: 9}, Refuse: domain.CodeQuota},
		"once counted, before does not matter":  {Given: counted(1), When: file.Count{Bytes: 1, Limit: 10, Before: 9}, Then: counted(2)},
		"a lower limit lets nothing grow":       {Given: counted(7), When: file.Count{Bytes: 1, Limit: 5}, Refuse: domain.CodeQuota},
		"and lets everything shrink":            {Given: counted(7), When: file.Count{Bytes: -1, Limit: 5}, Then: counted(6)},
		"a total is never below 0":              {Given: counted(7), When: file.Count{Bytes: -9}, Then: counted(0)},
		"an empty file is counted, too":         {Given: counted(7), When: file.Count{Limit: 5}, Then: counted(7)},
		"a look records nothing":                {Given: counted(7), When: file.LookTotal{}},
		"no sum overflows":                      {Given: counted(7), When: file.Count{Bytes: 1<<63 - 1, Limit: 10}, Refuse: domain.CodeQuota},
		"no command is a fault of the platform": {Refuse: domain.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, file.TotalDecider) })
	}
	require.Equal(t, domain.StreamID{Scope: "w1", Kind: "filetotal", ID: "w1"}, file.TotalStream("w1"))
}
