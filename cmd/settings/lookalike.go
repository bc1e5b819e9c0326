package settings

import (
	"fmt"
	"slices"
	"strings"
)

// ourPrefixes are the beginnings that only our names have. General ones (GIT_,
// HTTP_, OTEL_, NODE_, LOG_) are left out: other programs use them too.
var ourPrefixes = []string{
	"ACCESS_TOKENS_", "ADDITIONAL_GLOBAL_", "AGENTS_", "APP_CONFIG_", "BADGER_", "BROKER_EMIT_", "BULK_",
	"COLLECTIONS_", "CONTEXT_", "CRAWLER_", "CUSTOM_CODE_", "DISABLE_LOCAL_", "EGRESS_", "EVENTSTORE_", "EVENTS_",
	"EXECUTION_", "FETCH_", "GATEWAY_REQUEST_", "INTERNAL_API_", "JETSTREAM_", "JWKS_", "KNOWLEDGE_", "LLM_",
	"MODEL_", "NATS_", "RATE_LIMIT_", "REQUEST_QUEUES_", "RUN_RECORDING_", "SCHEDULES_", "SECRETS_MASTER_", "SMTP_",
	"STARTUP_IMPORT_", "STREAM_", "SUPER_ADMIN_", "UPLOADS_", "VERSIONING_", "WAIT_", "WEBHOOKS_", "WEBHOOK_",
	"WORKSPACES_", "WORKSPACE_",
}

// lookalikes warns about unknown variables that were probably meant for us.
func (g *gatherer) lookalikes() []string {
	var warnings []string
	for _, variable := range g.unknown {
		if g.used[variable] {
			continue
		}
		name, distance := g.nearest(variable)
		prefix := slices.ContainsFunc(ourPrefixes, func(p string) bool { return strings.HasPrefix(variable, p) })
		if prefix || distance == 1 {
			warnings = append(warnings, fmt.Sprintf("%s is not a setting; did you mean %s?", variable, name))
		}
	}
	return warnings
}

// nearest returns the known name with the fewest edits to variable.
func (g *gatherer) nearest(variable string) (name string, distance int) {
	distance = len(variable) + 100
	for _, row := range g.names.rows {
		for _, known := range append([]string{row.Name}, row.Aliases...) {
			if d := edits(variable, known); d < distance {
				name, distance = known, d
			}
		}
	}
	return name, distance
}

// edits counts the insertions, deletions and replacements between a and b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func trimFile(name string) string { return strings.TrimSuffix(name, fileSuffix) }
