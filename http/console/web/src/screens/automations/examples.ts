/* Examples of the dialog for a new automation. Each one runs as it is, without anything of the outside. */
export type ExampleId = 'blank' | 'endpoint' | 'event' | 'schedule' | 'secret' | 'wait';

export interface Example {
  id: ExampleId;
  /** Name of a secret that is made with it, when it is not there. */
  secret?: string;
  /** An event that comes from outside: it is declared with it, else it would be warned about. */
  event?: { type: string; schema: Record<string, unknown> };
  /** The document without slug and name. */
  text: string;
  /** An input that shows something at the first run. */
  input?: Record<string, unknown>;
}

export const examples: Example[] = [
  {
    id: 'blank',
    text: `do: []
output: {}
`,
  },
  {
    id: 'endpoint',
    input: { body: { name: 'Ada' } },
    text: `when:
  endpoint: true
schemas:
  - payload:
      type: object
      required: [body]
      properties:
        body:
          type: object
          required: [name]
          properties:
            name:
              type: string
              minLength: 1
              description: Who is greeted
validateArguments: true
do:
  - set:
      name: greeting
      value: 'Hello {{body.name}}'
output:
  greeting: '{{greeting}}'
  at: '{{run.date}}'
`,
  },
  {
    id: 'event',
    event: { type: 'order.created', schema: { id: { type: 'string' }, amount: { type: 'number' } } },
    input: { type: 'order.created', payload: { id: 'A-17', amount: 120 } },
    text: `when:
  events:
    - order.created
do:
  - conditions:
      '{{payload.amount}} > 100':
        - emit:
            event: order.large
            payload:
              id: '{{payload.id}}'
              amount: '{{payload.amount}}'
      default: []
output:
  order: '{{payload.id}}'
`,
  },
  {
    id: 'schedule',
    text: `when:
  schedules:
    - '0 7 * * 1-5'
do:
  - set:
      name: global.reports
      type: push
      value:
        day: '{% date({{run.date}}, "YYYY-MM-DD") %}'
  - emit:
      event: report.due
      payload:
        day: '{% date({{run.date}}, "YYYY-MM-DD") %}'
output:
  reports: '{{global.reports}}'
`,
  },
  {
    id: 'secret',
    secret: 'example_token',
    text: `do:
  - comment: Put the address of your service in place of this platform's own.
  - fetch:
      url: '{{global.apiUrl}}/login/providers'
      headers:
        x-api-token: '{{secret.example_token}}'
      outputMode: detailed_response
      output: answer
output:
  status: '{{answer.status}}'
  body: '{{answer.body}}'
`,
  },
  {
    id: 'wait',
    event: { type: 'approval.given', schema: { approved: { type: 'boolean' } } },
    input: { request: 'A new laptop' },
    text: `arguments:
  request:
    type: string
    description: What is asked for
do:
  - emit:
      event: approval.requested
      payload:
        request: '{{request}}'
  - wait:
      oneOf:
        - event: approval.given
      timeout: 3600
      output: answer
output:
  approved: '{{answer.payload.approved}}'
`,
  },
];
