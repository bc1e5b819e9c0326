import{An as e,B as t,Bn as n,Cn as r,Ct as i,En as a,Ft as o,G as ee,Gn as s,Ht as c,In as l,Jn as u,K as d,Kn as f,Ln as p,Mt as m,N as h,Nn as g,On as _,Qn as v,St as y,Wn as b,Xn as x,Yn as S,an as C,ar as w,bn as te,gt as T,in as E,ir as D,mn as O,mt as k,nr as ne,qn as A,rr as j,tn as re,tr as ie,y as ae}from"./base-BupR6RX8.js";import{i as oe,r as se,t as ce}from"./identity-CbE3Ak60.js";import{t as le}from"./Field-BPQ8aanH.js";import{t as ue}from"./actions-BoU-bs6k.js";import{t as M}from"./automation-BVS7vYcI.js";import{n as N}from"./inputs-pwuTEaxc.js";var P=[{id:`blank`,text:`do: []
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
`}],F=e(`<!> <!>`,1),I=e(`<input/>`),L=e(`<label><input type="radio" name="example" class="ssg8ee"/> <!> <span class="stack-4 ssg8ee"><strong> </strong><span class="small muted ssg8ee"> </span></span></label>`),R=e(`<form class="stack"><!> <fieldset><legend class="ssg8ee"> </legend> <div class="cards ssg8ee"></div></fieldset> <!> <button type="submit" class="visually-hidden" tabindex="-1" aria-hidden="true"> </button></form>`);function z(e,z){ne(z,!0);let B=[],V=d(),H=k.query.get(`new`)??``,U=x(!0),W=x(u(P.some(e=>e.id===H)?H:`blank`)),G=x(void 0),K=x(!1),q=x(!1),J=x(void 0),de=v(()=>M(V.data).map(e=>e.slug)),Y=v(()=>p(G)??(p(W)===`blank`?``:c.automations.examples[p(W)].name)),X=v(()=>ce(se(p(Y))||`automation`,p(de))),Z={blank:`page`,endpoint:`link`,event:`event`,schedule:`schedule`,secret:`key`,wait:`wait`};async function Q(){if(p(q)||(S(K,p(Y).trim()===``),p(K)))return;S(q,!0),S(J,void 0);let e=P.find(e=>e.id===p(W));try{e.secret&&await fe(e.secret),e.event&&await pe(e.event.type,e.event.schema);let t=await ue(V.id,oe(e.text,p(X),p(Y).trim()));e.input&&N(V.id,t,{payload:e.input}),S(U,!1),k.go(T(`automations`,{id:V.id,slug:t}))}catch(e){S(J,o(e))}finally{S(q,!1)}}async function fe(e){if(!V.can(`create`,`secrets`).allowed||!V.can(`read`,`secrets`).allowed)return;let t={workspaceId:V.id},{data:n}=await y(i.GET(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t}}));if(e in n)return;let r=Array.from(crypto.getRandomValues(new Uint8Array(16)),e=>e.toString(16).padStart(2,`0`)).join(``);await y(i.PATCH(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t},body:{[e]:{value:r,description:c.automations.exampleSecret}}}))}async function pe(e,t){let n=V.data?.events??{};if(!V.can(`update`).allowed||n.types?.[e])return;let r={events:{...n,types:{...n.types,[e]:{schema:t}}}};await y(i.PATCH(`/v2/workspaces/{workspaceId}`,{params:{path:{workspaceId:V.id}},body:r,headers:m({ifMatch:V.resource.etag})}))}let $=()=>k.setQuery({new:void 0},{replace:!0});ae(e,{wide:!0,get title(){return c.automations.newTitle},onclose:$,onconfirm:()=>void Q(),get open(){return p(U)},set open(e){S(U,e,!0)},footer:e=>{var r=F(),i=s(r);t(i,{onclick:()=>{S(U,!1),$()},children:(e,t)=>{j();var r=g();n(()=>a(r,c.common.cancel)),_(e,r)},$$slots:{default:!0}});var o=A(i,2);{let e=v(()=>V.can(`create`,`automations`)),r=v(()=>p(q)&&c.common.creating);t(o,{kind:`primary`,get verdict(){return p(e)},get pending(){return p(r)},onclick:()=>void Q(),children:(e,t)=>{j();var r=g();n(()=>a(r,c.common.create)),_(e,r)},$$slots:{default:!0}})}_(e,r)},children:(e,t)=>{var i=R(),o=b(i);{let e=(e,t=w)=>{var n=I(),r=e=>S(G,e.currentTarget.value,!0);E(n,()=>({...t(),autofocus:!0,autocomplete:`off`,value:p(Y),oninput:r}),void 0,void 0,void 0,`ssg8ee`,!0),_(e,n)},t=v(()=>c.automations.nameHelp(p(Y).trim()?p(X):``)),n=v(()=>p(K)&&!p(Y).trim()?c.form.required:void 0);le(o,{get label(){return c.automations.name},get help(){return p(t)},get error(){return p(n)},required:!0,children:e,$$slots:{default:!0}})}var s=A(o,2),u=b(s),d=f(u,!0),m=A(u,2);te(m,21,()=>P,e=>e.id,(e,t)=>{var r=L();let i;var o=b(r);C(o);var s,l=A(o,2);ee(l,{get name(){return Z[p(t).id]}});var u=A(l,2),d=b(u),m=f(d,!0),h=A(d),g=f(h,!0);D(u),D(r),n(()=>{i=O(r,1,`choice ssg8ee`,null,i,{chosen:p(W)===p(t).id}),s!==(s=p(t).id)&&(o.value=(o.__value=s)??``),a(m,c.automations.examples[p(t).id].title),a(g,c.automations.examples[p(t).id].text)}),re(B,[],o,()=>(p(t).id,p(W)),e=>S(W,e)),_(e,r)}),D(m),D(s);var g=A(s,2),y=e=>{h(e,{compact:!0,get error(){return p(J)}})};r(g,e=>{p(J)&&e(y)});var x=A(g,2),T=f(x,!0);D(i),n(()=>{a(d,c.automations.beginWith),a(T,c.common.create)}),l(`submit`,i,e=>{e.preventDefault(),Q()}),_(e,i)},$$slots:{footer:!0,default:!0}}),ie()}export{z as default};