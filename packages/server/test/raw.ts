import { connect } from "node:net";

export type Answer = { status: number; headers: Map<string, string>; body: string };

/** Sends bytes unchanged. Reads the answer until the server closes the connection, or the body is complete. */
export function send(port: number, text: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  let received = "";
  const socket = connect(port, "127.0.0.1", () => socket.write(text));
  socket.setTimeout(60_000, () => socket.destroy(new Error("no answer within a minute")));
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1");
    const answer = parse(received);
    const length = Number(answer?.headers.get("content-length") ?? Number.NaN);
    if (!answer || answer.body.length < length) return;
    socket.destroy();
    resolve(answer);
  });
  socket.on("error", reject);
  socket.on("close", () => {
    const answer = parse(received);
    if (answer) resolve(answer);
    else reject(new Error(`closed without an answer: ${received}`));
  });
  return promise;
}

function parse(text: string): Answer | null {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Map(
    lines.map((line): [string, string] => {
      const at = line.indexOf(":");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
  return { status: Number(first.split(" ")[1]), headers, body: text.slice(end + 4) };
}

/** Returns a request's text: its first line, the given headers, and its body. */
export function request(first: string, headers: Record<string, string>, body = ""): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return [`${first} HTTP/1.1`, ...lines, ...length, "", body].join("\r\n");
}
