import type { FileInode } from "./disk.ts";
import { type Inode, logOf, systemError } from "./disk.ts";
import type { Fault, FaultKind } from "./faults.ts";
import { Random } from "../../packages/workflow/src/chaos/random.ts";
import { Ended, type Process, type World } from "./world.ts";

/** Observer of changes on the disk. */
export type DiskWatch = {
  /** Called when a log's bytes have changed, or a file has become a log. */
  onLog(inode: FileInode): void;
  onRemoved(path: string, inode: Inode): void;
  onNamed(path: string, inode: Inode): void;
  onPower(): void;
  onFlip(path: string): void;
  /** Called at each call of each process, because another process may read at this moment. */
  onCall(process: Process): void;
};

const callMs = 0.004;
/** Error codes of calls that fail without an effect. */
const errorOf: Partial<Record<FaultKind, string>> = {
  writeFails: "EIO",
  removeFails: "EIO",
  renameFails: "EIO",
  openFails: "EMFILE",
  readFails: "EIO",
  truncateFails: "EIO",
  listFails: "EIO",
  makeFolderFails: "EIO",
};

/** System calls. Any fault may occur at each call. */
export class Calls {
  readonly #world: World;
  readonly #watch: DiskWatch;
  #fullUntil = 0;

  constructor(world: World, watch: DiskWatch) {
    this.#world = world;
    this.#watch = watch;
  }

  /** Makes a call. `act` receives a fault that changes the call's effect. */
  make<T>(kind: string, what: string, act: (fault: Fault | null, process: Process) => T): T {
    const world = this.#world;
    const process = world.running;
    if (process.role === "observer") return act(null, process);
    world.now += callMs;
    world.calls += 1;
    world.note(`${process.pid} ${kind} ${what}`);
    const { faults } = world;
    if (faults.isOver || faults.faults.length === 0) {
      const value = act(null, process);
      this.#watch.onCall(process);
      return value;
    }
    let after: Fault | null = null;
    for (const fault of [...faults.at("any"), ...faults.at(process.role)]) {
      if (fault.detail % 2 === 0) this.#suffer(fault, process);
      else after = fault;
    }
    const own = faults.at(kind)[0] ?? null;
    if (own) world.note(`fault ${own.kind}`);
    if (own?.kind === "diskFull") this.#fullUntil = world.now + 60_000;
    const code = own && errorOf[own.kind];
    if (code) throw systemError(code, what);
    const value = act(own?.kind === "diskFull" ? null : own, process);
    this.#watch.onCall(process);
    if (after) this.#suffer(after, process);
    return value;
  }

  /** Checks that the disk has space. @throws `ENOSPC` while the disk is full. */
  needSpace(path: string): void {
    const { now, faults } = this.#world;
    if (now < this.#fullUntil && !faults.isOver) throw systemError("ENOSPC", path);
  }

  /** Applies a fault of the whole process or machine. */
  #suffer(fault: Fault, process: Process): void {
    const world = this.#world;
    world.note(`fault ${fault.kind}`);
    const random = new Random(fault.detail, fault.kind);
    switch (fault.kind) {
      case "workerDies":
      case "clientDies":
        world.end(process, null);
        throw new Ended("killed");
      case "power":
        world.losePower(random);
        for (const [path, inode] of world.disk.files()) {
          inode.links = 1;
          inode.log = logOf(path);
        }
        this.#watch.onPower();
        throw new Ended("no power");
      case "sleep":
        process.asleepUntil = world.now + 60_000;
        return;
      case "stop":
        for (const act of process.onStop) world.plan(process, random.around(1), act);
        return;
      case "clock":
        world.clockOffset += random.pick([-3_600_000, -1, 1_000, 86_400_000, 315_360_000_000]);
        return;
      case "flip":
        this.#flip(random);
        return;
      default:
        throw new Error(`${fault.kind} is a fault of one call`);
    }
  }

  #flip(random: Random): void {
    const files = [...this.#world.disk.files()].filter(([, { cache }]) => cache.length > 0);
    const logs = files.filter(([, inode]) => inode.log);
    const chosen = random.chance(0.8) && logs.length > 0 ? logs : files;
    if (chosen.length === 0) return;
    const [path, inode] = random.pick(chosen);
    const { length } = inode.cache;
    const at = random.chance(0.4)
      ? length - 1 - random.below(Math.min(length, 3))
      : random.below(length);
    inode.flip(at, random.below(8));
    this.#world.note(`flip ${path} ${at}`);
    this.#watch.onFlip(path);
  }
}
