import { describe, expect, test } from "bun:test";
import {
  bodyOf,
  connectTo,
  exchange,
  getOf,
  http,
  newPath,
  opened,
  statusOf,
  tcp,
  useEgress,
} from "../../test/fixtures/egress.ts";
import { messageOf } from "../../test/fixtures/until.ts";
import { openEgressProxy } from "./proxy.ts";

useEgress();

describe("a target is refused", () => {
  test.each([
    ["127.0.0.1", "loopback address"],
    ["127.1", "loopback address"],
    ["2130706433", "loopback address"],
    ["0x7f.1", "loopback address"],
    ["0177.0.0.1", "loopback address"],
    ["127.0.0.1.", "loopback address"],
    ["127%2e0.0.1", "loopback address"],
    ["localhost", "loopback address"],
    ["LOCALHOST", "loopback address"],
    ["localhost.", "loopback address"],
    ["[::1]", "loopback address"],
    ["[::ffff:127.0.0.1]", "loopback address"],
    ["[64:ff9b::7f00:1]", "loopback address"],
    ["0", "reserved address"],
    ["0.0.0.0", "reserved address"],
    ["[::]", "reserved address"],
    ["10.0.0.1", "private address"],
    ["169.254.169.254", "link-local address"],
    ["[fd00:ec2::254]", "private address"],
    ["100.100.100.200", "private address"],
    ["168.63.129.16", "cloud metadata address"],
    ["255.255.255.255", "broadcast address"],
  ])("%s", async (host, reason) => {
    const target = await tcp();
    const { path, refused } = await opened();
    const tunnel = await exchange(path, connectTo(`${host}:${target.port}`));
    const plain = await exchange(path, getOf(`http://user:secret@${host}:${target.port}/x?secret`));
    expect([statusOf(tunnel), statusOf(plain)]).toEqual([403, 403]);
    expect(bodyOf(tunnel)).toEndWith(
      `:${target.port}: refused: ${reason}; to allow it: sandbox.network.allow of plans, allow of a role's command\n`,
    );
    expect(plain).toContain(bodyOf(tunnel).trim());
    expect(refused).toHaveLength(2);
    expect(refused.join()).not.toContain("secret");
    expect(target.sockets).toHaveLength(0);
  });

  test("if its name has only refused addresses", async () => {
    const target = await tcp();
    const resolve = async () => ["192.168.1.1", "127.0.0.1"];
    const { path, refused } = await opened([], { resolve });
    const answer = await exchange(path, connectTo(`metadata.google.internal:${target.port}`));
    expect(bodyOf(answer)).toStartWith(
      `metadata.google.internal:${target.port}: refused: private address`,
    );
    expect(refused).toEqual([`metadata.google.internal:${target.port} private address`]);
  });

  test("if it is an address of this machine, even a public address", async () => {
    const { path, refused } = await opened([], { own: () => ["8.8.8.8", "2606:4700::1"] });
    for (const host of ["8.8.8.8", "[2606:4700::1]", "[::ffff:8.8.8.8]"]) {
      expect(statusOf(await exchange(path, connectTo(`${host}:80`)))).toBe(403);
    }
    expect(refused[0]).toBe("8.8.8.8:80 address of this machine");
  });
});

/** An unassigned public address: connections to it fail or time out. */
const unassigned = "3000::1";

describe("a name", () => {
  test("is resolved only once", async () => {
    const target = await tcp();
    let asked = 0;
    const resolve = async () => (asked++ === 0 ? [unassigned] : ["127.0.0.1"]);
    const { path } = await opened([], { resolve, connectMs: 200 });
    const answer = await exchange(path, connectTo(`rebind.example:${target.port}`));
    expect([502, 504]).toContain(statusOf(answer));
    expect(asked).toBe(1);
    expect(target.sockets).toHaveLength(0);
  });

  test("with public and private addresses is never reached at a private address", async () => {
    const target = await tcp();
    const resolve = async () => ["127.0.0.1", unassigned, "::1"];
    const { path, refused } = await opened([], { resolve, connectMs: 200 });
    const answer = await exchange(path, getOf(`http://mixed.example:${target.port}/`));
    expect([502, 504]).toContain(statusOf(answer));
    expect(refused).toEqual([]);
    expect(target.sockets).toHaveLength(0);
  });

  test("allowed by an entry is reached at the address of its one resolution", async () => {
    const port = await http((_, response) => response.end("reached"));
    let asked = 0;
    const resolve = async () => (asked++ === 0 ? ["127.0.0.1"] : ["192.0.2.1"]);
    const { path } = await opened([`db.example:${port}`], { resolve });
    expect(await exchange(path, getOf(`http://DB.example.:${port}/`))).toContain("reached");
    expect(asked).toBe(1);
  });

  test("is tried at its next address when an address can't be reached", async () => {
    const port = await http((_, response) => response.end("reached"));
    const resolve = async () => ["::1", "127.0.0.1"];
    const { path } = await opened([`db.example:${port}`], { resolve });
    expect(await exchange(path, getOf(`http://db.example:${port}/`))).toContain("reached");
  });

  test.each([
    ["is unknown", async () => Promise.reject(new Error("ENOTFOUND"))],
    ["has no address", async () => []],
  ])("that %s is answered with 502", async (_, resolve: () => Promise<string[]>) => {
    const { path, refused } = await opened([], { resolve });
    const answer = await exchange(path, connectTo("none.example:443"));
    expect([statusOf(answer), bodyOf(answer)]).toEqual([502, "none.example:443: unknown host\n"]);
    expect(refused).toEqual([]);
  });

  test("that times out is answered with 504", async () => {
    const { path } = await opened([], { resolve: () => new Promise(() => {}), connectMs: 20 });
    expect(statusOf(await exchange(path, connectTo("slow.example:443")))).toBe(504);
  });
});

describe("an entry of the allow list", () => {
  test.each([
    ["localhost", ["localhost", "LOCALHOST.", "127.0.0.1", "127.1"]],
    ["127.0.0.1", ["localhost", "127.0.0.1"]],
    ["[::1]", ["localhost", "127.0.0.1"]],
  ])("for %s also allows its other spellings at that port", async (host, asked) => {
    const port = await http((_, response) => response.end("reached"));
    const { path, refused } = await opened([`${host}:${port}`]);
    for (const one of asked) {
      expect(await exchange(path, getOf(`http://${one}:${port}/`))).toContain("reached");
    }
    expect(refused).toEqual([]);
  });

  test("opens no other port and no other host", async () => {
    const [allowed, other] = [await tcp(), await tcp()];
    const { path } = await opened([`localhost:${allowed.port}`]);
    for (const target of [
      `localhost:${other.port}`,
      `127.0.0.1:${other.port}`,
      `127.0.0.2:${allowed.port}`,
      `0.0.0.0:${allowed.port}`,
      `[::ffff:127.0.0.1]:${allowed.port}`,
    ]) {
      expect(statusOf(await exchange(path, connectTo(target)))).toBe(403);
    }
  });

  test.each(["localhost", "localhost:0", "*:443", "http://localhost:1"])(
    "that is %j is an error when the proxy starts",
    async (entry) => {
      const opening = openEgressProxy(newPath(), { allow: [entry] });
      expect(await messageOf(opening)).toBe(
        `sandbox.network.allow: ${JSON.stringify(entry)} is not host:port`,
      );
    },
  );
});
