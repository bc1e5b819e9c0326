import{Dn as e,Fn as t,G as n,Gn as r,In as i,Jn as a,Kn as o,M as s,Mn as c,Pt as l,Sn as u,St as d,Tn as f,Un as p,Vt as m,W as h,Wn as g,Yn as _,Zn as v,en as ee,er as y,ht as b,in as te,ir as x,jt as S,kn as C,nr as w,pn as ne,pt as T,qn as E,rn as D,rr as O,tr as re,xt as k,y as ie,yn as ae,z as A,zn as j}from"./base-SY8UrelI.js";import{i as oe,r as se,t as ce}from"./identity-CbE3Ak60.js";import{t as le}from"./Field-BQs2uylI.js";import{t as ue}from"./actions-CUcEzPaa.js";import{t as M}from"./automation-Cg72HSls.js";import{n as N}from"./inputs-QBDupG8A.js";var P=[{id:`blank`,text:`do: []
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
`}],F=C(`<!> <!>`,1),I=C(`<input/>`),L=C(`<label><input type="radio" name="example" class="ssg8ee"/> <!> <span class="stack-4 ssg8ee"><strong> </strong><span class="small muted ssg8ee"> </span></span></label>`),R=C(`<form class="stack"><!> <fieldset><legend class="ssg8ee"> </legend> <div class="cards ssg8ee"></div></fieldset> <!> <button type="submit" class="visually-hidden" tabindex="-1" aria-hidden="true"> </button></form>`);function z(C,z){re(z,!0);let B=[],V=n(),H=T.query.get(`new`)??``,U=_(!0),W=_(E(P.some(e=>e.id===H)?H:`blank`)),G=_(void 0),K=_(!1),q=_(!1),J=_(void 0),de=v(()=>M(V.data).map(e=>e.slug)),Y=v(()=>i(G)??(i(W)===`blank`?``:m.automations.examples[i(W)].name)),X=v(()=>ce(se(i(Y))||`automation`,i(de))),Z={blank:`page`,endpoint:`link`,event:`event`,schedule:`schedule`,secret:`key`,wait:`wait`};async function Q(){if(i(q)||(a(K,i(Y).trim()===``),i(K)))return;a(q,!0),a(J,void 0);let e=P.find(e=>e.id===i(W));try{e.secret&&await fe(e.secret),e.event&&await pe(e.event.type,e.event.schema);let t=await ue(V.id,oe(e.text,i(X),i(Y).trim()));e.input&&N(V.id,t,{payload:e.input}),a(U,!1),T.go(b(`automations`,{id:V.id,slug:t}))}catch(e){a(J,l(e))}finally{a(q,!1)}}async function fe(e){if(!V.can(`create`,`secrets`).allowed||!V.can(`read`,`secrets`).allowed)return;let t={workspaceId:V.id},{data:n}=await k(d.GET(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t}}));if(e in n)return;let r=Array.from(crypto.getRandomValues(new Uint8Array(16)),e=>e.toString(16).padStart(2,`0`)).join(``);await k(d.PATCH(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t},body:{[e]:{value:r,description:m.automations.exampleSecret}}}))}async function pe(e,t){let n=V.data?.events??{};if(!V.can(`update`).allowed||n.types?.[e])return;let r={events:{...n,types:{...n.types,[e]:{schema:t}}}};await k(d.PATCH(`/v2/workspaces/{workspaceId}`,{params:{path:{workspaceId:V.id}},body:r,headers:S({ifMatch:V.resource.etag})}))}let $=()=>T.setQuery({new:void 0},{replace:!0});ie(C,{wide:!0,get title(){return m.automations.newTitle},onclose:$,onconfirm:()=>void Q(),get open(){return i(U)},set open(e){a(U,e,!0)},footer:t=>{var n=F(),r=g(n);A(r,{onclick:()=>{a(U,!1),$()},children:(t,n)=>{w();var r=c();j(()=>f(r,m.common.cancel)),e(t,r)},$$slots:{default:!0}});var s=o(r,2);{let t=v(()=>V.can(`create`,`automations`)),n=v(()=>i(q)&&m.common.creating);A(s,{kind:`primary`,get verdict(){return i(t)},get pending(){return i(n)},onclick:()=>void Q(),children:(t,n)=>{w();var r=c();j(()=>f(r,m.common.create)),e(t,r)},$$slots:{default:!0}})}e(t,n)},children:(n,c)=>{var l=R(),d=p(l);{let t=(t,n=x)=>{var r=I(),o=e=>a(G,e.currentTarget.value,!0);D(r,()=>({...n(),autofocus:!0,autocomplete:`off`,value:i(Y),oninput:o}),void 0,void 0,void 0,`ssg8ee`,!0),e(t,r)},n=v(()=>m.automations.nameHelp(i(Y).trim()?i(X):``)),r=v(()=>i(K)&&!i(Y).trim()?m.form.required:void 0);le(d,{get label(){return m.automations.name},get help(){return i(n)},get error(){return i(r)},required:!0,children:t,$$slots:{default:!0}})}var g=o(d,2),_=p(g),y=r(_,!0),b=o(_,2);ae(b,21,()=>P,e=>e.id,(t,n)=>{var s=L();let c;var l=p(s);te(l);var u,d=o(l,2);h(d,{get name(){return Z[i(n).id]}});var g=o(d,2),_=p(g),v=r(_,!0),y=o(_),b=r(y,!0);O(g),O(s),j(()=>{c=ne(s,1,`choice ssg8ee`,null,c,{chosen:i(W)===i(n).id}),u!==(u=i(n).id)&&(l.value=(l.__value=u)??``),f(v,m.automations.examples[i(n).id].title),f(b,m.automations.examples[i(n).id].text)}),ee(B,[],l,()=>(i(n).id,i(W)),e=>a(W,e)),e(t,s)}),O(b),O(g);var S=o(g,2),C=e=>{s(e,{compact:!0,get error(){return i(J)}})};u(S,e=>{i(J)&&e(C)});var w=o(S,2),T=r(w,!0);O(l),j(()=>{f(y,m.automations.beginWith),f(T,m.common.create)}),t(`submit`,l,e=>{e.preventDefault(),Q()}),e(n,l)},$$slots:{footer:!0,default:!0}}),y()}export{z as default};