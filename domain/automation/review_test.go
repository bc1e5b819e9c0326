package automation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/domaintest"
)

func TestReview(t *testing.T) {
	for name, tc := range map[string]struct {
		doc  string
		want string // "kind field name or message", one per line
	}{
		"a variable that nothing sets": {
			doc: `
arguments: {amount: {type: number}}
do:
  - conditions: {'{{ammount}} > 100': [{emit: {event: big, payload: {a: '{{amount}}'}}}]}
  - set: {name: total, value: '{% {{totl}} + 1 %}'}
output: '{{total}}'`,
			want: `
warning do[0].conditions["{{ammount}} > 100"] nothing sets the variable "ammount"; did you mean "amount"?
warning do[1].set.value nothing sets the variable "totl"; did you mean "total"?
emit big`,
		},
		"what triggers and instructions hand over is set": {
			doc: `
when: {endpoint: true, events: [order.*]}
do:
  - repeat: {on: '{{body.items}}', do: [{set: {name: 'sum[{{item.id}}]', value: '{{$index}}'}}]}
  - try: {do: [{fetch: {url: 'https://a.example/{{pathParams.id}}', output: reply}}], catch: [{set: {name: why, value: '{{$error.message}}'}}]}
  - set: {name: $http, value: {status: 201, headers: {x: '{{headers.accept}}'}}}
output: {a: '{{reply}}', b: '{{why}}', c: '{{sum}}', d: '{{session.x}}{{user.id}}{{global.g}}{{config.c}}{{run.date}}{{socket.s}}', e: '{{payload.n}}{{type}}{{source.userId}}'}`,
			want: `listen when.events[0] order.*`,
		},
		"callers may hand over anything when nothing is declared": {
			doc: `
do: [{emit: {event: e, payload: {x: '{{whatever}}'}}}]`,
			want: `emit e`,
		},
		"a variable that is asked for before it is read may be absent": {
			doc: `
when: {schedules: ['0 3 * * *']}
do:
  - conditions:
      '{{a}} exists': [{comment: x}]
      'not {{b}}': [{comment: x}]
      '{{secret.optional}} exists': [{comment: x}]
      '{{c}}': [{comment: x}]
      'isArray(d)': [{comment: x}]
      '{{e}} == null': [{comment: x}]
      '{{f}} and {{g}}': [{comment: x}]
  - set: {name: r, value: '{% {{h}} or "default" %}'}
output: '{{a}}{{b}}{{c}}{{d}}{{e}}{{f}}{{g}}{{h}}{{r}}'`,
		},
		"a name that is computed may be any variable": {
			doc: `
when: {endpoint: x}
do: [{set: {name: '{{body.key}}', value: 1}}]
output: '{{found}}'`,
		},
		"parameters of one template may have an output": {
			doc: `
when: {endpoint: x}
do: [{fetch: '{{body}}'}]
output: '{{reply}}'`,
			want: `emits like `,
		},
		"schemas declare what is given": {
			doc: `
schemas: [{conditions: {method: post}, payload: {properties: {body: {}, tenant: {type: string}}}}]
do: []
output: '{{tenant}}{{tennant}}'`,
			want: `warning output nothing sets the variable "tennant"; did you mean "tenant"?`,
		},
		"a schema that lets more in declares nothing": {
			doc: `
schemas: [{payload: {properties: {a: {}}, additionalProperties: true}}]
do: []
output: '{{b}}'`,
		},
		"calls, secrets and events": {
			doc: `
when: {events: [order.paid, workspaces.imported, error, od.error, runtime.*, apps.published]}
do:
  - charge: {card: '{{payload.card}}', output: done}
  - Mail.send: {key: '{{secret.mail}}', again: 'Bearer {{secret.mail}} {{secret.other.x}}'}
  - runWorkflow: {workflow: later}
  - runWorkflow: {workflow: '{{payload.next}}'}
  - all: [{charge: {}}]
  - wait: {oneOf: [{event: approval.given}, {event: runtime.automations.executed}, {event: '{{payload.e}}'}], output: w}
  - emit: {event: 'order.{{payload.state}}'}
  - emit: {event: shipped}
  - fetch: {url: 'https://a.example', stream: {event: chunk}}`,
			want: `
call do[0].charge charge
call do[1]["Mail.send"] Mail.send
call do[2].runWorkflow.workflow later
secret do[1]["Mail.send"].key mail
secret do[1]["Mail.send"].again other
listen do[5].wait.oneOf[0].event approval.given
listen when.events[0] order.paid
emit shipped
emit chunk
emits like order.`,
		},
		"faults of the document": {
			doc: `
when: {schedules: ['nope']}
do: [{emit: {event: e, to: x}}]`,
			want: `
error when.schedules[0]
warning do[0].emit.to unknown parameter
emit e`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc := domaintest.ParseYAML(t, "name: t\n"+tc.doc)
			parsed, faults := automation.Parse(doc, automation.Rules{})
			review := automation.NewReview(parsed, faults)
			var got []string
			for _, f := range review.Findings {
				severity := "error"
				if f.Warning {
					severity = "warning"
				}
				got = append(got, severity+" "+f.Field+" "+f.Message)
			}
			for _, kind := range []struct {
				name string
				refs []automation.Reference
			}{{"call", review.Calls}, {"secret", review.Secrets}, {"listen", review.Listens}} {
				for _, r := range kind.refs {
					got = append(got, kind.name+" "+r.Field+" "+r.Name)
				}
			}
			for _, e := range review.Emits {
				got = append(got, "emit "+e)
			}
			for _, e := range review.EmitsLike {
				got = append(got, "emits like "+e)
			}
			var want []string
			if text := strings.TrimPrefix(tc.want, "\n"); text != "" {
				want = strings.Split(text, "\n")
			}
			require.Len(t, got, len(want), "%s", strings.Join(got, "\n"))
			for i := range want {
				require.True(t, strings.HasPrefix(got[i], want[i]), "want %q, got %q", want[i], got[i])
			}
		})
	}
}

func TestUsesAreEveryPlace(t *testing.T) {
	a, _ := automation.Parse(domaintest.ParseYAML(t, `
when: {events: [order.paid, workspaces.imported]}
do:
  - charge: {}
  - all: [{charge: {}}, {Mail.send: {}}]
  - runWorkflow: {workflow: later}
  - runWorkflow: {workflow: '{{payload.next}}'}
  - wait: {oneOf: [{event: approval.*}]}
  - emit: {event: shipped}
  - fetch: {url: 'https://a.example', stream: {event: shipped}}`), automation.Rules{})
	require.Equal(t, []automation.Use{
		{Kind: automation.Call, Name: "charge", Field: "do[0].charge", IsKey: true},
		{Kind: automation.Call, Name: "charge", Field: "do[1].all[0].charge", IsKey: true},
		{Kind: automation.Call, Name: "Mail.send", Field: `do[1].all[1]["Mail.send"]`, IsKey: true},
		{Kind: automation.Call, Name: "later", Field: "do[2].runWorkflow.workflow"},
		{Kind: automation.Listening, Name: "approval.*", Field: "do[4].wait.oneOf[0].event"},
		{Kind: automation.Emission, Name: "shipped", Field: "do[5].emit.event"},
		{Kind: automation.Emission, Name: "shipped", Field: "do[6].fetch.stream.event"},
		{Kind: automation.Listening, Name: "order.paid", Field: "when.events[0]"},
		{Kind: automation.Listening, Name: "workspaces.imported", Field: "when.events[1]"},
	}, a.Uses())
	require.Empty(t, (*automation.Automation)(nil).Uses())
}
