import{An as e,B as t,Gn as n,Gt as r,Hn as i,Ln as a,Mn as o,Pn as s,Qn as c,Xn as l,Yn as u,Zn as d,b as f,bn as p,cr as m,ir as h,lr as g,mt as _,sr as v,un as y,ur as b,wn as x,z as S}from"./base-4F0RMMl-.js";var C=[`node`,`python`,`go`],w={node:`Node.js`,python:`Python`,go:`Go`},T={node:`import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const secret = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ''), 'base64');

function verify(headers, body) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const wanted = createHmac('sha256', secret).update(\`\${id}.\${timestamp}.\${body}\`).digest();
  return String(headers['webhook-signature']).split(' ').some((one) => {
    const given = Buffer.from(one.replace(/^v1,/, ''), 'base64');
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts).toString();
    if (!verify(request.headers, body)) return response.writeHead(401).end();
    const event = JSON.parse(body); // the same webhook-id may come again: drop repeats
    console.log(event.type, event.payload);
    response.writeHead(204).end();
  });
}).listen(8080);
`,python:`import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

secret = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

def verify(headers, body):
    id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        return False
    wanted = hmac.new(secret, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    wanted = "v1," + base64.b64encode(wanted).decode()
    return any(hmac.compare_digest(wanted, one) for one in headers["webhook-signature"].split())

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if verify(self.headers, body):
            event = json.loads(body)  # the same webhook-id may come again: drop repeats
            print(event["type"], event.get("payload"))
            self.send_response(204)
        else:
            self.send_response(401)
        self.end_headers()

if __name__ == "__main__":
    HTTPServer(("", 8080), Receiver).serve_forever()
`,go:`package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func verify(secret []byte, header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	wanted := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, one := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(one), wanted) {
			return true
		}
	}
	return false
}

func main() {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !verify(secret, r.Header, body) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		log.Printf("%s", body) // the same webhook-id may come again: drop repeats
		w.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
`},E=s(`<li> </li>`),D=s(`<p> </p> <div class="row-wrap"><div class="row" role="group"></div> <span class="push"><!></span></div> <pre class="s7u92d"> </pre> <ul class="muted small s7u92d"></ul>`,1);function O(s,O){m(O,!0);let k=_(`language`,`node`,{replace:!0}),A=h(()=>C.find(e=>e===k.value)??`node`);var j=D(),M=l(j),N=d(M,!0),P=c(M,2),F=u(P);x(F,20,()=>C,e=>e,(r,s)=>{{let c=h(()=>s===i(A));t(r,{small:!0,get pressed(){return i(c)},onclick:()=>k.value=s,children:(t,r)=>{g();var i=a();n(()=>e(i,w[s])),o(t,i)},$$slots:{default:!0}})}}),b(F);var I=c(F,2),L=u(I);S(L,{get text(){return T[i(A)]},get label(){return r.webhooks.copyCode},small:!1}),b(I),b(P);var R=c(P,2),z=d(R,!0);p(R,()=>f);var B=c(R,2);x(B,20,()=>r.webhooks.receiverRules.split(`
`),e=>e,(t,r)=>{var i=E(),a=d(i,!0);n(()=>e(a,r)),o(t,i)}),b(B),n(()=>{e(N,r.webhooks.receiverText),y(F,`aria-label`,r.webhooks.language),y(R,`aria-label`,r.webhooks.receiverCode),e(z,T[i(A)])}),o(s,j),v()}export{O as default};