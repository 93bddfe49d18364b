import { connect, isIP, type Socket } from "node:net";
import {
  type Endpoint,
  endpointOf,
  ownAddresses,
  refusalOf,
  textOf,
  type EgressPolicy,
} from "./addresses.ts";
import { badEndpoint } from "./errors.ts";

/** Name resolution, this machine's addresses, and the timeout of a connection. */
export type Network = {
  resolve(host: string): Promise<string[]>;
  own(): string[];
  connectMs: number;
};

/** The network of this machine. */
export const realNetwork: Network = {
  // Do not use `node:dns`: its lookups occupy the thread pool that file access needs, so a few slow lookups would block
  // file access.
  resolve: async (host) =>
    (await Bun.dns.lookup(host, { backend: "c-ares" })).map((one) => one.address),
  own: ownAddresses,
  connectMs: 30_000,
};

/** Reason for a failed connection: the HTTP status and one line. `reason` is set when the policy refused the target. */
export type Unreached = { status: 403 | 502 | 504; problem: string; reason?: string };

/** Connects to a target, or returns the reason for the failure. Gives up when `gone` aborts. Never throws. */
export type Reach = (target: Endpoint, gone: AbortSignal) => Promise<Socket | Unreached>;

/**
 * Connects to public addresses and to the entries of a policy. A name is resolved once: the connection goes to the
 * address that was checked, so a second answer of the name server changes nothing.
 *
 * @throws WorkflowError when an entry is not `host:port`
 */
export function reachBy({ allow }: EgressPolicy, network: Network): Reach {
  const lifted = new Set(allow.map(entryOf));

  const openOf = (target: Endpoint, found: readonly string[]): string[] | Unreached => {
    if (lifted.has(keyOf(target))) return [...found];
    const own = network.own();
    const reasons = found.map((one) => refusalOf(one, own));
    const open = found.filter((_, index) => reasons[index] === null);
    return open.length > 0 ? open : refused(target, reasons[0] ?? "no address");
  };

  return async (target, gone) => {
    const late = AbortSignal.timeout(network.connectMs);
    const signal = AbortSignal.any([gone, late]);
    const name = textOf(target);
    try {
      const found = await addressesOf(target.host, network, signal);
      if (late.aborted) return { status: 504, problem: `${name}: no answer from the name server` };
      if (found.length === 0) return { status: 502, problem: `${name}: unknown host` };
      const open = openOf(target, found);
      if (!Array.isArray(open)) return open;
      const socket = await dialFirst(open, target.port, network.connectMs, signal);
      // A route can make an address local that does not belong to an interface.
      if (socket.localAddress !== socket.remoteAddress || lifted.has(keyOf(target))) return socket;
      socket.destroy();
      return refused(target, "address of this machine");
    } catch (error) {
      if (late.aborted) return { status: 504, problem: `${name}: connection timed out` };
      const code = error instanceof Error && "code" in error ? String(error.code) : "no connection";
      return { status: 502, problem: `${name}: unreachable: ${code}` };
    }
  };
}

function refused(target: Endpoint, reason: string): Unreached {
  const hint = "to allow it: sandbox.network.allow of plans, allow of a role's command";
  return { status: 403, problem: `${textOf(target)}: refused: ${reason}; ${hint}`, reason };
}

/** Returns the addresses of a host; empty when unknown. A server on `localhost` may listen on either address. */
async function addressesOf(host: string, network: Network, signal: AbortSignal): Promise<string[]> {
  if (loopbackNames.has(host)) return ["127.0.0.1", "::1"];
  if (isIP(host) !== 0) return [host];
  return unlessAborted(network.resolve(host), signal).catch(() => []);
}

const loopbackNames = new Set(["localhost", "127.0.0.1", "::1"]);

const keyOf = ({ host, port }: Endpoint): string =>
  textOf({ host: loopbackNames.has(host) ? "localhost" : host, port });

function entryOf(text: string): string {
  const endpoint = endpointOf(text);
  if (endpoint) return keyOf(endpoint);
  throw badEndpoint(text);
}

/** Tries addresses in order. Each gets a share of the timeout, so that a silent address leaves time for the next. */
async function dialFirst(
  addresses: readonly string[],
  port: number,
  totalMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  let problem: unknown;
  for (const address of addresses) {
    const share = AbortSignal.timeout(totalMs / addresses.length);
    try {
      return await dial(address, port, AbortSignal.any([signal, share]));
    } catch (error) {
      problem = error;
      if (signal.aborted) break;
    }
  }
  throw problem;
}

function dial(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((done, fail) => {
    const socket = connect({ host, port, allowHalfOpen: true, keepAlive: true, noDelay: true });
    const stop = () => {
      socket.destroy();
      fail(signal.reason);
    };
    socket.on("error", fail);
    socket.once("close", () => signal.removeEventListener("abort", stop));
    socket.once("connect", () => {
      signal.removeEventListener("abort", stop);
      done(socket);
    });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((done, fail) => {
    if (signal.aborted) fail(signal.reason);
    signal.addEventListener("abort", () => fail(signal.reason), { once: true });
    work.then(done, fail);
  });
}
