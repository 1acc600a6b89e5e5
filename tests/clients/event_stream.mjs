// Reads an answer of /api/ai/generate with eventsource-parser and prints the data of its events.
// Arguments: the address, the tenant's id, the body.
import { EventSourceParserStream } from "eventsource-parser/stream";

const [url, tenant, body] = process.argv.slice(2);
const response = await fetch(url, {
  method: "POST",
  headers: { "content-type": "application/json", "x-tenant-id": tenant },
  body,
});
const events = response.body
  .pipeThrough(new TextDecoderStream())
  .pipeThrough(new EventSourceParserStream({ onError: "terminate" }));
const received = [];
for await (const event of events) received.push(event.data);
console.log(JSON.stringify(received));
