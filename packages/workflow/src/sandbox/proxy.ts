import { createServer } from "node:http";
import net from "node:net";
export type EgressPolicy = { allow: readonly string[] };
export type EgressProxy = { close(): Promise<void> };
export async function openEgressProxy(
  path: string,
  policy: EgressPolicy,
  onRefused?: (target: string, reason: string) => void,
): Promise<EgressProxy> {
  const s = createServer((_q, r) => r.writeHead(403).end("no"));
  s.on("connect", (q, sock) => {
    const { host, port } = endpointOf(q.url ?? "")!;
    if (!policy.allow.includes(q.url ?? "")) {
      onRefused?.(q.url ?? "", "x");
      sock.end("HTTP/1.1 403 no\r\n\r\nrefused");
      return;
    }
    const up = net.connect(port, host, () => {
      sock.write("HTTP/1.1 200 OK\r\n\r\n");
      up.pipe(sock);
      sock.pipe(up);
    });
    up.on("error", () => sock.destroy());
    sock.on("error", () => up.destroy());
  });
  await new Promise<void>((ok) => s.listen(path, ok));
  return {
    close: () =>
      new Promise((ok) => {
        s.closeAllConnections();
        s.close(() => ok());
      }),
  };
}
export function endpointOf(text: string): { host: string; port: number } | null {
  const m = /^(.+):(\d+)$/.exec(text);
  return m ? { host: m[1]!, port: Number(m[2]) } : null;
}
