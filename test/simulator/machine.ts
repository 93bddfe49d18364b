import type {
  Clock,
  Processes,
  SocketOutcome,
  SocketRequest,
  SocketResponse,
  Sockets,
  System,
} from "../../packages/workflow/src/system/port.ts";
import type { Inode } from "./disk.ts";
import type { Fault } from "./faults.ts";
import type { DiskWatch } from "./calls.ts";
import { SimulatedFiles } from "./files.ts";
import { Ended, type Process, type World } from "./world.ts";

type Listener = { process: Process; answer: (request: SocketRequest) => Promise<SocketResponse> };

/** Programs of a simulated machine. */
export type Programs = {
  /** Runs the worker in a process. */
  work(args: readonly string[]): void;
  /** Returns the module of a bundle's text. */
  module(text: string): object;
};

/** Returns the simulated machine as the product's operating system. Each call belongs to the running process. */
export function machineOf(world: World, watch: DiskWatch, programs: Programs): System {
  const files = new SimulatedFiles(world, watch);
  return {
    files,
    clock: clockOf(world),
    sockets: socketsOf(world, files),
    processes: processesOf(world, programs),
    random: () => (world.checkAlive(), world.random.number()),
    async load(path) {
      const inode = world.disk.at(path);
      if (inode?.kind !== "file") throw new Error(`no module at ${path}`);
      const text = inode.cache.view.toString("utf8");
      await later(world, 5);
      return programs.module(text);
    },
    // The index is optional: without it the product reads the files.
    openDatabase: () => Promise.resolve(null),
  };
}

function later(world: World, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.plan(world.running, world.random.around(ms), resolve);
  return promise;
}

function clockOf(world: World): Clock {
  const late = () => world.random.around(0.2);
  return {
    now: () => (world.checkAlive(), world.wall),
    elapsed: () => (world.checkAlive(), world.now),
    after: (ms, act) => world.plan(world.running, ms + late(), act),
    sleep(ms) {
      const { promise, resolve } = Promise.withResolvers<void>();
      world.plan(world.running, ms + late(), resolve);
      return promise;
    },
    sleepSync(ms) {
      world.checkAlive();
      world.now += ms;
    },
    turn() {
      const { promise, resolve } = Promise.withResolvers<void>();
      world.plan(world.running, late(), resolve);
      return promise;
    },
  };
}

function socketsOf(world: World, files: SimulatedFiles): Sockets {
  const listeners = new Map<Inode, Listener>();
  const delay = (faults: readonly Fault[]) => {
    const isLate = faults.some(({ kind }) => kind === "messageLate");
    return world.random.around(0.1) + (isLate ? world.random.around(4_000) : 0);
  };
  const has = (faults: readonly Fault[], kind: Fault["kind"]) =>
    faults.some((one) => one.kind === kind);
  return {
    listen(path, answer) {
      const inode = world.disk.newSocket();
      files.nameSocket(path, inode);
      listeners.set(inode, { process: world.running, answer });
    },
    request(path, request, timeoutMs) {
      const client = world.running;
      const { promise, resolve } = Promise.withResolvers<SocketOutcome>();
      const settle = (outcome: SocketOutcome, ms: number) =>
        world.plan(client, ms, () => {
          world.note(`${client.pid} got ${outcome.kind}`);
          resolve(outcome);
        });
      const lost = () =>
        settle({ kind: "lost", error: new Error("the connection was lost") }, delay([]));
      const cancel = world.plan(client, timeoutMs, () => settle({ kind: "silent" }, 0));
      void promise.then(cancel);
      const sent = world.faults.at("message");
      world.note(`${client.pid} ask ${request.method} ${request.path}`);
      for (const { kind } of sent) world.note(`fault ${kind}`);
      world.plan(null, delay(sent), () => {
        const inode = find(world, path);
        const listener = inode && listeners.get(inode);
        if (!listener?.process.alive) return settle({ kind: "nobody" }, 0);
        if (has(sent, "requestLost")) return;
        const { process, answer } = listener;
        let isAnswered = false;
        process.onEnd.push(() => !isAnswered && lost());
        const reply = async () => {
          const response = await answer(request);
          isAnswered = true;
          if (has(sent, "responseLost")) return;
          settle({ kind: "response", response }, delay(sent));
        };
        world.plan(process, delay([]), () => void reply());
      });
      return promise;
    },
  };
}

function find(world: World, path: string): Inode | null {
  try {
    return world.disk.at(path);
  } catch {
    return null;
  }
}

function processesOf(world: World, programs: Programs): Processes {
  const byPid = (pid: number) => world.processes.find((one) => one.pid === pid && one.alive);
  return {
    get pid() {
      return world.running.pid;
    },
    identify(pid) {
      world.checkAlive();
      const process = byPid(pid);
      if (!process) return null;
      return { pid, startTime: String(process.startedAt), bootId: String(world.boots) };
    },
    // The simulated bundles start no processes.
    withVariable: () => [],
    comesFrom: () => false,
    machineId: () => "",
    signal: () => undefined,
    startWorker(args) {
      world.checkAlive();
      return world.start("worker", "worker", 1 + world.random.around(15), () =>
        programs.work(args),
      );
    },
    run: async () => null,
    kill(pid) {
      world.checkAlive();
      const process = byPid(pid);
      if (!process) throw Object.assign(new Error("no such process"), { code: "ESRCH" });
      world.end(process, null);
    },
    onStop(act) {
      world.running.onStop.push(act);
    },
    exit(code) {
      world.end(world.running, code);
      throw new Ended("exited");
    },
  };
}
