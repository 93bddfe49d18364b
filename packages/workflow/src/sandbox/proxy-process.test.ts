import { afterAll, afterEach, expect, test } from "bun:test";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../test/fixtures/until.ts";

/*
 * Tests the proxy in a separate process for its memory use, and in a separate network namespace for its use of routes
 * and name servers.
 */

const folder = mkdtempSync(join(tmpdir(), "egress-process-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const importOf = (file: string) => JSON.stringify(join(import.meta.dir, file));
const linux = process.platform === "linux";

/** Runs a script in a network namespace with `setup`, and returns its output. */
function namespaced(setup: string, script: string): string {
  writeFileSync(join(folder, "run.ts"), script);
  const run = `ip link set lo up && ${setup} && exec ${process.execPath} ${join(folder, "run.ts")}`;
  const done = Bun.spawnSync([...unshare, "sh", "-c", run], { stderr: "inherit" });
  return done.stdout.toString();
}

const unshare = ["unshare", "--user", "--map-root-user", "--net", "--mount"];
const hasNamespaces =
  linux &&
  Bun.which("unshare") !== null &&
  Bun.spawnSync([...unshare, "ip", "link", "set", "lo", "up"]).exitCode === 0;

test.skipIf(!hasNamespaces)(
  "an address of this machine is refused, on an interface or by a route",
  () => {
    const script = `
      import { once } from "node:events";
      import { connect, createServer } from "node:net";
      import { openEgressProxy } from ${importOf("proxy.ts")};
      let seen = "";
      const server = createServer((socket) => {
        socket.on("error", () => {});
        socket.on("data", (bytes) => { seen += bytes; });
        socket.write("secret");
      });
      await once(server.listen(8000, "::"), "listening");
      const path = ${JSON.stringify(join(folder, "ns"))};
      const proxy = await openEgressProxy(path, { allow: ["11.0.0.8:8000"] });
      for (const host of ["8.8.8.8", "[2606:4700::99]", "11.0.0.7", "11.0.0.8"]) {
        const client = connect(path);
        let got = "";
        client.on("data", (bytes) => { got += bytes; if (got.endsWith("secret")) client.destroy(); });
        client.write("CONNECT " + host + ":8000 HTTP/1.1\\r\\n\\r\\nhello");
        await once(client, "close");
        console.log(host, got.split(" ")[1], got.includes("secret"));
      }
      process.exit();`;
    const setup =
      "ip addr add 8.8.8.8/32 dev lo && ip addr add 2606:4700::99/128 dev lo && ip route add local 11.0.0.0/24 dev lo";
    expect(namespaced(setup, script).trim().split("\n")).toEqual([
      "8.8.8.8 403 false",
      "[2606:4700::99] 403 false",
      "11.0.0.7 403 false",
      "11.0.0.8 200 true",
    ]);
  },
);

test.skipIf(!hasNamespaces)(
  "unresponsive name servers delay neither file access nor other names",
  () => {
    const script = `
      import { createSocket } from "node:dgram";
      import { once } from "node:events";
      import { readFile } from "node:fs/promises";
      import { connect, createServer } from "node:net";
      import { openEgressProxy } from ${importOf("proxy.ts")};
      const silent = createSocket("udp4");
      let asked = 0;
      silent.on("message", () => asked++);
      silent.bind(53, "127.0.0.1");
      await once(silent, "listening");
      const path = ${JSON.stringify(join(folder, "dns"))};
      await openEgressProxy(path, { allow: [] });
      let answered = 0;
      for (let i = 0; i < 100; i++) {
        const client = connect(path);
        client.on("data", () => answered++);
        client.write("CONNECT n" + i + ".example:80 HTTP/1.1\\r\\n\\r\\n");
      }
      while (asked < 100) await Bun.sleep(5);
      await readFile("/etc/hostname");
      const client = connect(path);
      client.write("CONNECT known.example:80 HTTP/1.1\\r\\n\\r\\n");
      const [answer] = await once(client, "data");
      console.log(answered, String(answer).split("\\r\\n\\r\\n")[1].trim());
      process.exit();`;
    writeFileSync(join(folder, "resolv.conf"), "nameserver 127.0.0.1\n");
    writeFileSync(join(folder, "hosts"), "10.1.2.3 known.example\n");
    const setup = ["resolv.conf", "hosts"]
      .map((name) => `mount --bind ${join(folder, name)} /etc/${name}`)
      .join(" && ");
    expect(namespaced(setup, script)).toBe(
      "0 known.example:80: refused: private address; to allow it: sandbox.network.allow of plans, allow of a role's command\n",
    );
  },
);

const megabytes = 100;
const chunk = Buffer.alloc(1024 * 1024, "x");

async function pour(into: Socket): Promise<void> {
  for (let i = 0; i < megabytes; i++) if (!into.write(chunk)) await once(into, "drain");
}

/** Peak memory of a proxy, in megabytes. */
function peakOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

test.skipIf(!linux).each([
  ["up a tunnel", "CONNECT", true],
  ["through a tunnel", "CONNECT", false],
  ["in a body", "POST", true],
  ["in an answer", "GET", false],
])("100 MB %s pass, and wait outside of the proxy for a slow reader", async (_, method, up) => {
  let far: Socket | undefined;
  const target = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    socket.on("error", () => {});
    far = socket;
  });
  const echo = createServer((socket) => socket.on("error", () => {}).pipe(socket));
  for (const server of [target, echo]) {
    await once(server.listen(0, "127.0.0.1"), "listening");
    ends.push(() => server.close());
  }
  const [port, echoPort] = [target, echo].map((one) => (one.address() as AddressInfo).port);
  const path = join(folder, `m${port}`);
  const child = Bun.spawn(
    [
      process.execPath,
      "-e",
      `import { openEgressProxy } from ${importOf("proxy.ts")};
       await openEgressProxy(${JSON.stringify(path)}, { allow: ["localhost:${port}", "localhost:${echoPort}"] });
       console.log("open");`,
    ],
    { stdout: "pipe", stderr: "inherit" },
  );
  ends.push(() => child.kill("SIGKILL"));
  await child.stdout.getReader().read();

  // Each round trip through this tunnel gives the proxy a turn of its event loop, in which it could exceed its limit.
  const clock = connect(path).on("error", () => {});
  clock.write(`CONNECT localhost:${echoPort} HTTP/1.1\r\n\r\n`);
  await once(clock, "data");
  const turn = async () => {
    clock.write("tick");
    await once(clock, "data");
  };

  const near = connect({ path, allowHalfOpen: true }).on("error", () => {});
  ends.push(() => near.destroy());
  near.pause();
  const size = megabytes * chunk.length;
  const asked = method === "CONNECT" ? `localhost:${port}` : `http://localhost:${port}/`;
  near.write(
    `${method} ${asked} HTTP/1.1\r\nHost: x\r\n${method === "POST" ? `Content-Length: ${size}\r\n` : ""}\r\n`,
  );
  await until(() => far !== undefined);
  if (!far) throw new Error("no connection");
  const before = peakOf(child.pid);
  const [sender, reader] = up ? [near, far] : [far, near];
  if (method === "GET") far.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
  const sent = pour(sender);
  for (let i = 0; i < 500; i++) await turn();
  const held = peakOf(child.pid) - before;

  let read = 0;
  let text = "";
  reader.on("data", (bytes: Buffer) => {
    read += bytes.length;
    if (text.length < 1000) text += bytes.toString("latin1", 0, 1000);
  });
  reader.resume();
  await until(() => read >= size && read >= size + text.indexOf("x".repeat(50)));
  await sent;
  expect({ held: held < 30, whole: peakOf(child.pid) - before < 60 }).toEqual({
    held: true,
    whole: true,
  });
});
