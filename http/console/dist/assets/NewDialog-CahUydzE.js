import{$n as e,An as t,B as n,Bn as r,Dn as i,Ft as a,G as ee,Gn as o,Gt as s,Hn as c,K as l,Ln as u,Mn as d,N as f,Pn as p,Qn as m,Rt as h,Tt as g,Xn as _,Yn as v,Zn as y,_t as b,an as te,cn as ne,cr as x,er as S,fr as re,ht as C,ir as w,ln as ie,lr as T,sr as E,tr as D,ur as O,vn as ae,wn as oe,wt as k,y as A}from"./base-4F0RMMl-.js";import{i as j,r as M,t as N}from"./identity-CbE3Ak60.js";import{t as P}from"./Field-CpJtlJzB.js";import{t as F}from"./actions-DYyxLUZ0.js";import{t as I}from"./automation-Cf734eLR.js";import{n as L}from"./inputs-D9iWeDKt.js";var R=[{id:`blank`,text:`do: []
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
`}],z=p(`<!> <!>`,1),B=p(`<input/>`),se=p(`<label><input type="radio" name="example" class="ssg8ee"/> <!> <span class="stack-4 ssg8ee"><strong> </strong><span class="small muted ssg8ee"> </span></span></label>`),ce=p(`<form class="stack"><!> <fieldset><legend class="ssg8ee"> </legend> <div class="cards ssg8ee"></div></fieldset> <!> <button type="submit" class="visually-hidden" tabindex="-1" aria-hidden="true"> </button></form>`);function V(p,V){x(V,!0);let le=[],H=l(),U=C.query.get(`new`)??``,W=D(!0),G=D(e(R.some(e=>e.id===U)?U:`blank`)),K=D(void 0),q=D(!1),J=D(!1),Y=D(void 0),ue=w(()=>I(H.data).map(e=>e.slug)),X=w(()=>c(K)??(c(G)===`blank`?``:s.automations.examples[c(G)].name)),Z=w(()=>N(M(c(X))||`automation`,c(ue))),de={blank:`page`,endpoint:`link`,event:`event`,schedule:`schedule`,secret:`key`,wait:`wait`};async function Q(){if(c(J)||(S(q,c(X).trim()===``),c(q)))return;S(J,!0),S(Y,void 0);let e=R.find(e=>e.id===c(G));try{e.secret&&await fe(e.secret),e.event&&await pe(e.event.type,e.event.schema);let t=await F(H.id,j(e.text,c(Z),c(X).trim()));e.input&&L(H.id,t,{payload:e.input}),S(W,!1),C.go(b(`automations`,{id:H.id,slug:t}))}catch(e){S(Y,h(e))}finally{S(J,!1)}}async function fe(e){if(!H.can(`create`,`secrets`).allowed||!H.can(`read`,`secrets`).allowed)return;let t={workspaceId:H.id},{data:n}=await k(g.GET(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t}}));if(e in n)return;let r=Array.from(crypto.getRandomValues(new Uint8Array(16)),e=>e.toString(16).padStart(2,`0`)).join(``);await k(g.PATCH(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t},body:{[e]:{value:r,description:s.automations.exampleSecret}}}))}async function pe(e,t){let n=H.data?.events??{};if(!H.can(`update`).allowed||n.types?.[e])return;let r={events:{...n,types:{...n.types,[e]:{schema:t}}}};await k(g.PATCH(`/v2/workspaces/{workspaceId}`,{params:{path:{workspaceId:H.id}},body:r,headers:a({ifMatch:H.resource.etag})}))}let $=()=>C.setQuery({new:void 0},{replace:!0});A(p,{wide:!0,get title(){return s.automations.newTitle},onclose:$,onconfirm:()=>void Q(),get open(){return c(W)},set open(e){S(W,e,!0)},footer:e=>{var r=z(),i=_(r);n(i,{onclick:()=>{S(W,!1),$()},children:(e,n)=>{T();var r=u();o(()=>t(r,s.common.cancel)),d(e,r)},$$slots:{default:!0}});var a=m(i,2);{let e=w(()=>H.can(`create`,`automations`)),r=w(()=>c(J)&&s.common.creating);n(a,{kind:`primary`,get verdict(){return c(e)},get pending(){return c(r)},onclick:()=>void Q(),children:(e,n)=>{T();var r=u();o(()=>t(r,s.common.create)),d(e,r)},$$slots:{default:!0}})}d(e,r)},children:(e,n)=>{var a=ce(),l=v(a);{let e=(e,t=re)=>{var n=B(),r=e=>S(K,e.currentTarget.value,!0);ne(n,()=>({...t(),autofocus:!0,autocomplete:`off`,value:c(X),oninput:r}),void 0,void 0,void 0,`ssg8ee`,!0),d(e,n)},t=w(()=>s.automations.nameHelp(c(X).trim()?c(Z):``)),n=w(()=>c(q)&&!c(X).trim()?s.form.required:void 0);P(l,{get label(){return s.automations.name},get help(){return c(t)},get error(){return c(n)},required:!0,children:e,$$slots:{default:!0}})}var u=m(l,2),p=v(u),h=y(p,!0),g=m(p,2);oe(g,21,()=>R,e=>e.id,(e,n)=>{var r=se();let i;var a=v(r);ie(a);var l,u=m(a,2);ee(u,{get name(){return de[c(n).id]}});var f=m(u,2),p=v(f),h=y(p,!0),g=m(p),_=y(g,!0);O(f),O(r),o(()=>{i=ae(r,1,`choice ssg8ee`,null,i,{chosen:c(G)===c(n).id}),l!==(l=c(n).id)&&(a.value=(a.__value=l)??``),t(h,s.automations.examples[c(n).id].title),t(_,s.automations.examples[c(n).id].text)}),te(le,[],a,()=>(c(n).id,c(G)),e=>S(G,e)),d(e,r)}),O(g),O(u);var _=m(u,2),b=e=>{f(e,{compact:!0,get error(){return c(Y)}})};i(_,e=>{c(Y)&&e(b)});var x=m(_,2),C=y(x,!0);O(a),o(()=>{t(h,s.automations.beginWith),t(C,s.common.create)}),r(`submit`,a,e=>{e.preventDefault(),Q()}),d(e,a)},$$slots:{footer:!0,default:!0}}),E()}export{V as default};