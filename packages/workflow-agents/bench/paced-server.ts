import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

// Serves Anthropic's and OpenAI's protocols. Sends `count` tokens at `rate` tokens a second (0: as fast as possible),
// each as a separate event and write. Arguments: count, rate. Prints the port.
const [count, rate] = process.argv.slice(2).map(Number) as [number, number];
const token = "word ";

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "text/event-stream" });
  const events = request.url?.includes("messages") ? anthropic() : openai();
  const began = performance.now();
  let sent = 0;
  const tick = () => {
    if (response.destroyed) return;
    const due = rate === 0 ? sent + 1000 : ((performance.now() - began) * rate) / 1000;
    for (; sent < due; sent += 1) {
      const { value, done } = events.next();
      if (done) return response.end();
      response.write(value);
    }
    if (rate > 0) return setTimeout(tick, 1);
    return response.writableNeedDrain ? response.once("drain", tick) : setImmediate(tick);
  };
  tick();
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

function* anthropic(): Generator<string> {
  const event = (data: { type: string; [field: string]: unknown }) =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const usage = { input_tokens: 1, output_tokens: count };
  const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], usage };
  yield event({ type: "message_start", message });
  yield event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  const delta = event({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: token },
  });
  for (let n = 0; n < count; n += 1) yield delta;
  yield event({ type: "content_block_stop", index: 0 });
  yield event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage });
  yield event({ type: "message_stop" });
}

function* openai(): Generator<string> {
  const chunk = (delta: object, finish_reason: string | null) => {
    const choices = [{ index: 0, delta, finish_reason }];
    const data = { id: "c", object: "chat.completion.chunk", created: 0, model: "m", choices };
    return `data: ${JSON.stringify(data)}\n\n`;
  };
  const delta = chunk({ content: token }, null);
  for (let n = 0; n < count; n += 1) yield delta;
  yield chunk({}, "stop");
  yield "data: [DONE]\n\n";
}
