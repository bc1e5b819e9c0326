import{$n as e,An as t,B as n,Bn as r,Ct as i,Fn as a,G as o,It as s,Jn as c,K as l,Mn as u,N as d,Nt as f,On as p,Qn as m,Rn as h,Sn as g,Tn as ee,Un as _,Ut as v,Xn as y,Yn as b,Zn as x,_t as S,ar as C,cr as w,gn as T,ht as E,ir as te,on as ne,or as D,qn as O,rn as k,sn as A,sr as j,tr as M,wt as N,y as re}from"./base-B5s3asxF.js";import{i as ie,r as ae,t as oe}from"./identity-CbE3Ak60.js";import{t as se}from"./Field-DcfCqllU.js";import{t as ce}from"./actions-Du78zIWt.js";import{t as le}from"./automation-D-rruvTK.js";import{n as ue}from"./inputs-DbfTnu61.js";var P=[{id:`blank`,text:`do: []
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
`}],F=u(`<!> <!>`,1),I=u(`<input/>`),L=u(`<label><input type="radio" name="example" class="ssg8ee"/> <!> <span class="stack-4 ssg8ee"><strong> </strong><span class="small muted ssg8ee"> </span></span></label>`),R=u(`<form class="stack"><!> <fieldset><legend class="ssg8ee"> </legend> <div class="cards ssg8ee"></div></fieldset> <!> <button type="submit" class="visually-hidden" tabindex="-1" aria-hidden="true"> </button></form>`);function z(u,z){C(z,!0);let B=[],V=l(),H=E.query.get(`new`)??``,U=e(!0),W=e(x(P.some(e=>e.id===H)?H:`blank`)),G=e(void 0),K=e(!1),q=e(!1),J=e(void 0),de=M(()=>le(V.data).map(e=>e.slug)),Y=M(()=>r(G)??(r(W)===`blank`?``:v.automations.examples[r(W)].name)),X=M(()=>oe(ae(r(Y))||`automation`,r(de))),Z={blank:`page`,endpoint:`link`,event:`event`,schedule:`schedule`,secret:`key`,wait:`wait`};async function Q(){if(r(q)||(m(K,r(Y).trim()===``),r(K)))return;m(q,!0),m(J,void 0);let e=P.find(e=>e.id===r(W));try{e.secret&&await fe(e.secret),e.event&&await pe(e.event.type,e.event.schema);let t=await ce(V.id,ie(e.text,r(X),r(Y).trim()));e.input&&ue(V.id,t,{payload:e.input}),m(U,!1),E.go(S(`automations`,{id:V.id,slug:t}))}catch(e){m(J,s(e))}finally{m(q,!1)}}async function fe(e){if(!V.can(`create`,`secrets`).allowed||!V.can(`read`,`secrets`).allowed)return;let t={workspaceId:V.id},{data:n}=await i(N.GET(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t}}));if(e in n)return;let r=Array.from(crypto.getRandomValues(new Uint8Array(16)),e=>e.toString(16).padStart(2,`0`)).join(``);await i(N.PATCH(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t},body:{[e]:{value:r,description:v.automations.exampleSecret}}}))}async function pe(e,t){let n=V.data?.events??{};if(!V.can(`update`).allowed||n.types?.[e])return;let r={events:{...n,types:{...n.types,[e]:{schema:t}}}};await i(N.PATCH(`/v2/workspaces/{workspaceId}`,{params:{path:{workspaceId:V.id}},body:r,headers:f({ifMatch:V.resource.etag})}))}let $=()=>E.setQuery({new:void 0},{replace:!0});re(u,{wide:!0,get title(){return v.automations.newTitle},onclose:$,onconfirm:()=>void Q(),get open(){return r(U)},set open(e){m(U,e,!0)},footer:e=>{var i=F(),o=c(i);n(o,{onclick:()=>{m(U,!1),$()},children:(e,n)=>{D();var r=a();_(()=>p(r,v.common.cancel)),t(e,r)},$$slots:{default:!0}});var s=y(o,2);{let e=M(()=>V.can(`create`,`automations`)),i=M(()=>r(q)&&v.common.creating);n(s,{kind:`primary`,get verdict(){return r(e)},get pending(){return r(i)},onclick:()=>void Q(),children:(e,n)=>{D();var r=a();_(()=>p(r,v.common.create)),t(e,r)},$$slots:{default:!0}})}t(e,i)},children:(e,n)=>{var i=R(),a=O(i);{let e=(e,n=w)=>{var i=I(),a=e=>m(G,e.currentTarget.value,!0);ne(i,()=>({...n(),autofocus:!0,autocomplete:`off`,value:r(Y),oninput:a}),void 0,void 0,void 0,`ssg8ee`,!0),t(e,i)},n=M(()=>v.automations.nameHelp(r(Y).trim()?r(X):``)),i=M(()=>r(K)&&!r(Y).trim()?v.form.required:void 0);se(a,{get label(){return v.automations.name},get help(){return r(n)},get error(){return r(i)},required:!0,children:e,$$slots:{default:!0}})}var s=y(a,2),c=O(s),l=b(c,!0),u=y(c,2);g(u,21,()=>P,e=>e.id,(e,n)=>{var i=L();let a;var s=O(i);A(s);var c,l=y(s,2);o(l,{get name(){return Z[r(n).id]}});var u=y(l,2),d=O(u),f=b(d,!0),h=y(d),g=b(h,!0);j(u),j(i),_(()=>{a=T(i,1,`choice ssg8ee`,null,a,{chosen:r(W)===r(n).id}),c!==(c=r(n).id)&&(s.value=(s.__value=c)??``),p(f,v.automations.examples[r(n).id].title),p(g,v.automations.examples[r(n).id].text)}),k(B,[],s,()=>(r(n).id,r(W)),e=>m(W,e)),t(e,i)}),j(u),j(s);var f=y(s,2),x=e=>{d(e,{compact:!0,get error(){return r(J)}})};ee(f,e=>{r(J)&&e(x)});var S=y(f,2),C=b(S,!0);j(i),_(()=>{p(l,v.automations.beginWith),p(C,v.common.create)}),h(`submit`,i,e=>{e.preventDefault(),Q()}),t(e,i)},$$slots:{footer:!0,default:!0}}),te()}export{z as default};