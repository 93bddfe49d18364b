import { connect, createServer, type Server, type Socket } from "node:net";

/*
 * A TCP load balancer in front of the workers of a cluster on one machine.
 *
 * B1 A new connection goes to the backend with the fewest connections.
 * B2 When a backend refuses a connection, the balancer tries another backend. Nothing was sent yet.
 * B3 A backend that fails its health check gets no new connection, and its connections are closed: their clients retry
 *    at another backend.
 * B4 A draining backend keeps its connections and gets no new connection.
 */

/** Loopback port of a worker, and the port of its health check. */
export type Backend = { port: number; health: number };

/** A running load balancer. */
export type Balancer = {
  port: number;
  /** Replaces the backends. Closes the connections of removed backends. */
  use(backends: readonly Backend[]): void;
  close(): Promise<void>;
};

type Member = Backend & { state: "takes" | "drains" | "gone"; sockets: Set<Socket> };

const checkEveryMs = 500;
/** Time after which a worker with a blocked event loop counts as frozen, in milliseconds. */
const answersMs = 4000;

const host = "127.0.0.1";

/** Starts a balancer on a loopback port; 0 picks a free port. */
export async function startBalancer(
  backends: readonly Backend[],
  { port = 0 }: { port?: number } = {},
): Promise<Balancer> {
  let members: Member[] = [];
  const checks = new Map<Member, AbortController>();

  const leave = (member: Member) => {
    checks.get(member)?.abort();
    checks.delete(member);
    for (const socket of member.sockets) socket.destroy();
  };
  const use = (next: readonly Backend[]) => {
    const kept = members.filter((one) => next.some((other) => isSame(one, other)));
    for (const member of members) if (!kept.includes(member)) leave(member);
    const added = next
      .filter((one) => !kept.some((other) => isSame(one, other)))
      .map((one): Member => ({ ...one, state: "takes", sockets: new Set() }));
    members = [...kept, ...added];
    for (const member of added) {
      const stop = new AbortController();
      checks.set(member, stop);
      void watch(member, stop.signal);
    }
  };

  const inbound = new Set<Socket>();
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => {
    inbound.add(socket);
    socket.once("close", () => inbound.delete(socket));
    socket.on("error", () => socket.destroy());
    forward(socket, () => members);
  });
  await listening(server, port);
  use(backends);
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : port,
    use,
    async close() {
      const closed = new Promise((done) => server.close(done));
      for (const member of members) leave(member);
      for (const socket of inbound) socket.destroy();
      await closed;
    },
  };
}

const isSame = (a: Backend, b: Backend): boolean => a.port === b.port && a.health === b.health;

function listening(server: Server, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ port, host }, resolve);
  return promise;
}

/** Connects a client with a backend: B1 and B2. */
function forward(caller: Socket, members: () => readonly Member[], tried: Member[] = []): void {
  const member = choose(members().filter((one) => !tried.includes(one)));
  if (!member || caller.destroyed) {
    caller.destroy();
    return;
  }
  const backend = connect({ port: member.port, host, noDelay: true });
  member.sockets.add(backend);
  const abandon = () => backend.destroy();
  caller.once("close", abandon);
  const failed = () => {
    member.sockets.delete(backend);
    caller.off("close", abandon);
    forward(caller, members, [...tried, member]);
  };
  backend.once("error", failed);
  backend.once("connect", () => {
    backend.off("error", failed);
    backend.on("error", () => backend.destroy());
    backend.once("close", () => {
      member.sockets.delete(backend);
      caller.destroy();
    });
    caller.pipe(backend);
    backend.pipe(caller);
    caller.resume();
  });
}

/**
 * Returns the healthy backend with the fewest connections; without a healthy backend, a backend that may have
 * recovered.
 */
function choose(members: readonly Member[]): Member | undefined {
  const rank = { takes: 0, gone: 1, drains: 2 };
  return [...members].sort(
    (a, b) => rank[a.state] - rank[b.state] || a.sockets.size - b.sockets.size,
  )[0];
}

/** Checks the health of a backend until it is removed: B3 and B4. */
async function watch(member: Member, stop: AbortSignal): Promise<void> {
  for (; !stop.aborted; await Bun.sleep(checkEveryMs)) {
    const state = await stateOf(member);
    if (stop.aborted) return;
    member.state = state;
    if (state === "gone") for (const socket of member.sockets) socket.destroy();
  }
}

async function stateOf({ health }: Backend): Promise<Member["state"]> {
  try {
    const signal = AbortSignal.timeout(answersMs);
    const { ok } = await fetch(`http://${host}:${health}/health`, { signal, keepalive: false });
    return ok ? "takes" : "drains";
  } catch {
    return "gone";
  }
}
