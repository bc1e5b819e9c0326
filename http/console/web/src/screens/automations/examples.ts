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

/** A name for a new automation that no other has. */
export function freeSlug(wanted: string, taken: readonly string[]): string {
  if (!taken.includes(wanted)) return wanted;
  for (let n = 2; ; n++) if (!taken.includes(`${wanted}-${n}`)) return `${wanted}-${n}`;
}

/** What the server makes of a name without a slug, so that the address is seen while typing. */
export function slugOf(name: string): string {
  return (name.split('/').pop() ?? '').normalize('NFD').replace(/[\u0300-\u036f]/g, '').replace(/[^A-Za-z0-9 _-]/g, '').trim().replace(/\s+/g, '-').toLowerCase().slice(0, 60);
}

/** A YAML scalar of a text. */
export function yamlText(text: string): string {
  return /^[A-Za-z][\w /.-]*$/.test(text) && !/^(true|false|yes|no|on|off|null)$/i.test(text) ? text : `'${text.replace(/'/g, "''")}'`;
}

/** The document with another slug and name; the text is edited, never parsed, so that everything else stays as it is. */
export function withIdentity(text: string, slug: string, name: string): string {
  const rest = text
    .replace(/^slug:.*\n/m, '')
    .replace(/^name:(?:[ \t]+\S.*)?\n(?:[ \t]+.*\n)*/m, '');
  return `slug: ${yamlText(slug)}\nname: ${yamlText(name)}\n${rest}`;
}
