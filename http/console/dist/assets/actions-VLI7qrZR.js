import{A as e,Dt as t,Et as n,Ft as r,Nt as i,_t as a,gt as o,j as s,vt as c}from"./base-Dll02Vga.js";function l(e){return Object.values(e?.automations??{})}function u(e){let t=i(e.name)||e.slug,n=t.lastIndexOf(`/`);return n>0&&n<t.length-1?{folder:t.slice(0,n),label:t.slice(n+1)}:{folder:``,label:t}}var d={endpoint:`link`,event:`event`,schedule:`schedule`};function f(e){let{when:t}=e,n=[];return t?.endpoint&&n.push({kind:`endpoint`,values:[t.endpoint===!0?e.slug:t.endpoint]}),t?.events?.length&&n.push({kind:`event`,values:t.events}),t?.schedules?.length&&n.push({kind:`schedule`,values:t.schedules}),n}function p(e){let t=e.schemas?.find(e=>e.payload&&Object.keys(e.conditions??{}).length===0)??e.schemas?.find(e=>e.payload);if(t?.payload?.properties&&Object.keys(t.payload.properties).length>0)return{type:`object`,...t.payload};if(e.arguments&&Object.keys(e.arguments).length>0)return{type:`object`,properties:e.arguments}}function m(e,t,n){let r=t.trim().toLowerCase(),a={folders:new Map,items:[]};for(let t of e){if(r&&!`${t.slug} ${i(t.name)} ${i(t.description)} ${(t.labels??[]).join(` `)}`.toLowerCase().includes(r))continue;let{folder:e,label:n}=u(t),o=a;for(let t of e?e.split(`/`):[]){let e=o.folders.get(t);e||o.folders.set(t,e={folders:new Map,items:[]}),o=e}o.items.push({label:n,automation:t})}let o=[],s=e=>e.items.length+[...e.folders.values()].reduce((e,t)=>e+s(t),0),c=(e,t,i)=>{for(let[a,l]of[...e.folders].sort(([e],[t])=>e.localeCompare(t))){let e=t?`${t}/${a}`:a,u=r!==``||!n.has(e);o.push({kind:`folder`,id:`folder:${e}`,name:a,depth:i,count:s(l),open:u}),u&&c(l,e,i+1)}for(let{label:t,automation:n}of e.items.sort((e,t)=>e.label.localeCompare(t.label)))o.push({kind:`automation`,id:n.slug,depth:i,label:t,automation:n})};return c(a,``,0),o}function h(e,t){let n=e=>new Set(Array.from({length:Math.max(0,e.length-1)},(t,n)=>e.slice(n,n+2).toLowerCase())),r=n(e);return t.map(e=>{let t=n(e);return{one:e,score:[...r].filter(e=>t.has(e)).length/Math.max(1,r.size+t.size)}}).filter(({score:e})=>e>.1).sort((e,t)=>t.score-e.score).slice(0,3).map(({one:e})=>e)}var g=[{id:`blank`,text:`do: []
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
`},{id:`event`,input:{type:`order.created`,payload:{id:`A-17`,amount:120}},text:`when:
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
`},{id:`wait`,input:{request:`A new laptop`},text:`arguments:
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
`}];function _(e,t){if(!t.includes(e))return e;for(let n=2;;n++)if(!t.includes(`${e}-${n}`))return`${e}-${n}`}function v(e){return(e.split(`/`).pop()??``).normalize(`NFD`).replace(/[\u0300-\u036f]/g,``).replace(/[^A-Za-z0-9 _-]/g,``).trim().replace(/\s+/g,`-`).toLowerCase().slice(0,60)}function y(e){return/^[A-Za-z][\w /.-]*$/.test(e)&&!/^(true|false|yes|no|on|off|null)$/i.test(e)?e:`'${e.replace(/'/g,`''`)}'`}function b(e,t,n){let r=e.replace(/^slug:.*\n/m,``).replace(/^name:(?:[ \t]+\S.*)?\n(?:[ \t]+.*\n)*/m,``);return`slug: ${y(t)}\nname: ${y(n)}\n${r}`}var x=`/v2/workspaces/{workspaceId}/automations/{slug}`;async function S(e,t,n=()=>{}){let{seq:i}=await o(a.DELETE(x,{params:{path:{workspaceId:e,slug:t}}}));s(r.automations.deleted(t),e,i,n)}async function C(e,t,n){let{seq:i}=await o(a.PATCH(x,{params:{path:{workspaceId:e,slug:t}},body:{disabled:n}}));s(n?r.automations.disabledNow(t):r.automations.enabledNow(t),e,i)}async function w(t,i,s,c){await o(a.PATCH(x,{params:{path:{workspaceId:t,slug:i}},body:{slug:s},headers:n({ifMatch:c})})),e(r.automations.renamed(s))}async function T(e,n){let{data:i,seq:c}=await o(a.POST(`/v2/workspaces/{workspaceId}/automations`,{params:{path:{workspaceId:e}},...t(n)}));return s(r.automations.created,e,c),D(String(i))}async function E(e,t,n,r){let{data:i}=await o(a.GET(x,{params:{path:{workspaceId:e,slug:t}},...c}));return T(e,b(String(i),n,r))}function D(e){let t=/^slug:[ \t]*(.*)$/m.exec(e)?.[1]?.trim()??``;return/^".*"$/.test(t)?JSON.parse(t):/^'.*'$/.test(t)?t.slice(1,-1).replace(/''/g,`'`):t}export{f as _,C as a,_ as c,l as d,p as f,d as g,u as h,w as i,v as l,h as m,S as n,D as o,m as p,E as r,g as s,T as t,b as u};