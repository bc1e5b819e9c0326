import{A as e,Ct as t,Mt as n,St as r,Vt as i,j as a,jt as o,xt as s}from"./base-CgNGBiRl.js";var c=[{id:`blank`,text:`do: []
output: {}
`},{id:`endpoint`,input:{body:{name:`Ada`}},text:`when:
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
`},{id:`event`,event:{type:`order.created`,schema:{id:{type:`string`},amount:{type:`number`}}},input:{type:`order.created`,payload:{id:`A-17`,amount:120}},text:`when:
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
`},{id:`schedule`,text:`when:
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
`},{id:`secret`,secret:`example_token`,text:`do:
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
`},{id:`wait`,event:{type:`approval.given`,schema:{approved:{type:`boolean`}}},input:{request:`A new laptop`},text:`arguments:
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
`}];function l(e,t){if(!t.includes(e))return e;for(let n=2;;n++)if(!t.includes(`${e}-${n}`))return`${e}-${n}`}function u(e){return(e.split(`/`).pop()??``).normalize(`NFD`).replace(/[\u0300-\u036f]/g,``).replace(/[^A-Za-z0-9 _-]/g,``).trim().replace(/\s+/g,`-`).toLowerCase().slice(0,60)}function d(e){return/^[A-Za-z][\w /.-]*$/.test(e)&&!/^(true|false|yes|no|on|off|null)$/i.test(e)?e:`'${e.replace(/'/g,`''`)}'`}function f(e,t,n){let r=e.replace(/^slug:.*\n/m,``).replace(/^name:(?:[ \t]+\S.*)?\n(?:[ \t]+.*\n)*/m,``);return`slug: ${d(t)}\nname: ${d(n)}\n${r}`}var p=`/v2/workspaces/{workspaceId}/automations/{slug}`;async function m(e,t,n=()=>{}){let{seq:o}=await s(r.DELETE(p,{params:{path:{workspaceId:e,slug:t}}}));a(i.automations.deleted(t),e,o,n)}async function h(e,t,n){let{seq:o}=await s(r.PATCH(p,{params:{path:{workspaceId:e,slug:t}},body:{disabled:n}}));a(n?i.automations.disabledNow(t):i.automations.enabledNow(t),e,o)}async function g(t,n,a,c){await s(r.PATCH(p,{params:{path:{workspaceId:t,slug:n}},body:{slug:a},headers:o({ifMatch:c})})),e(i.automations.renamed(a))}async function _(e,t){let{data:o,seq:c}=await s(r.POST(`/v2/workspaces/{workspaceId}/automations`,{params:{path:{workspaceId:e}},...n(t)}));return a(i.automations.created,e,c),y(String(o))}async function v(e,n,i,a){let{data:o}=await s(r.GET(p,{params:{path:{workspaceId:e,slug:n}},...t}));return _(e,f(String(o),i,a))}function y(e){let t=/^slug:[ \t]*(.*)$/m.exec(e)?.[1]?.trim()??``;return/^".*"$/.test(t)?JSON.parse(t):/^'.*'$/.test(t)?t.slice(1,-1).replace(/''/g,`'`):t}export{h as a,l as c,g as i,u as l,m as n,y as o,v as r,c as s,_ as t,f as u};