import { type Place, parsePlace } from "./cut.ts";
import { eventBytes, greeting, heartbeat, heartbeatEveryMs } from "./frame.ts";
import type { LogFrame } from "./log-frame.ts";
import type { Logs } from "./logs.ts";
import type { Notices } from "./notices.ts";
import { Replay } from "./replay.ts";
import type { Source } from "./streams.ts";
import type { Wake } from "./wake.ts";

const pieceBytes = 64 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

type Watching = {
  /** The id of the event that its reader had last; without one it begins now. */
  id: string | undefined;
  /** What it tells. */
  names: ReadonlySet<string>;
  notices: Notices;
  /** Null when it tells nothing of them: then they are not read for it. */
  logs: Logs | null;
  wake: Wake;
};

/** One who watches all threads, at its own pace: what it missed, then what comes. */
export class Watcher implements Source {
  readonly #names: ReadonlySet<string>;
  readonly #notices: Notices;
  readonly #logs: Logs | null;
  readonly #wake: Wake;
  readonly #leave: (() => void)[];
  readonly #place: Place | null;
  /** What it tells first, and then nothing. */
  #first: (() => Bytes)[] = [() => greeting, () => this.#ready()];
  /** The numbers of the notice and of the frame that come next. */
  #notice = 0;
  #frame = 0;
  #replay: Replay | null = null;
  /** The id of what it has told, and the one that its reader has. */
  #id: string;
  #sentId: string | null = null;
  #sentAt = performance.now();
  #waits = false;
  #closed = false;

  /** @throws WorkflowError `BAD_POSITION` (usage). */
  constructor({ id, names, notices, logs, wake }: Watching) {
    this.#place = id === undefined ? null : parsePlace(id);
    this.#id = id ?? "";
    this.#names = names;
    this.#notices = notices;
    this.#logs = logs;
    this.#wake = wake;
    this.#leave = [notices.watch(), ...(logs ? [logs.follow()] : [])];
  }

  get stalledMs(): number {
    return this.#waits ? 0 : performance.now() - this.#sentAt;
  }

  async next(): Promise<Bytes | null> {
    this.#waits = true;
    // Who reads the lists when it is ready must miss nothing that comes after.
    await this.#notices.begun;
    await this.#logs?.begun;
    while (!this.#closed) {
      const bytes = this.#take();
      if (bytes) {
        this.#waits = false;
        this.#sentAt = performance.now();
        return bytes;
      }
      // What was passed over tells nothing here, and there may be more: others get their turn.
      if (this.#isAtHead) await this.#wake.rung;
      else await new Promise(setImmediate);
    }
    return null;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const leave of this.#leave) leave();
  }

  get #isAtHead(): boolean {
    const isThere = !this.#logs || (!this.#replay && this.#frame === this.#logs.frames.next);
    return isThere && this.#notice === this.#notices.next;
  }

  #take(): Bytes | null {
    const first = this.#first.shift();
    if (first) return first();
    if (!this.#notices.reaches(this.#notice)) return this.#readyAgain();
    const pieces = this.#takeNotices();
    if (this.#logs) this.#takeLogs(this.#logs, pieces);
    if (pieces.length > 0) return Buffer.concat(pieces);
    return performance.now() - this.#sentAt >= heartbeatEveryMs ? this.#beat() : null;
  }

  #ready(): Bytes {
    const known = this.#place && this.#notices.since(this.#place.cut.time);
    this.#notice = known ?? this.#notices.next;
    const missed = known === null;
    if (!this.#logs) return eventBytes("ready", { missed }, missed ? this.#notices.id : undefined);
    if (!this.#place) {
      this.#begin(this.#logs);
      return eventBytes("ready", { missed }, this.#id);
    }
    const number = this.#logs.frames.behind(this.#id);
    if (number === null) this.#replay = new Replay(this.#logs, this.#place);
    else this.#frame = number;
    return eventBytes("ready", { missed });
  }

  #begin({ heads, frames }: Logs): void {
    this.#frame = frames.next;
    this.#id = heads.cut;
    this.#sentId = heads.cut;
  }

  /** It was too slow for what stands in no file. */
  #readyAgain(): Bytes {
    this.#notice = this.#notices.next;
    return eventBytes("ready", { missed: true }, this.#logs ? undefined : this.#notices.id);
  }

  #takeNotices(): Bytes[] {
    const pieces: Bytes[] = [];
    for (let bytes = 0; bytes < pieceBytes; ) {
      const notice = this.#notices.at(this.#notice);
      if (!notice) break;
      this.#notice += 1;
      if (!this.#names.has(notice.name)) continue;
      pieces.push(this.#logs ? notice.bare : notice.bytes);
      bytes += notice.bytes.length;
    }
    return pieces;
  }

  #takeLogs(logs: Logs, pieces: Bytes[]): void {
    if (!this.#replay && !logs.frames.reaches(this.#frame)) {
      this.#replay = new Replay(logs, parsePlace(this.#id));
    }
    if (this.#replay) return this.#takeMissed(logs, this.#replay, pieces);
    for (let bytes = 0; bytes < pieceBytes; ) {
      const frame = logs.frames.at(this.#frame);
      if (!frame) break;
      this.#frame += 1;
      bytes += frame.bytes.length;
      this.#pass(frame, pieces);
    }
  }

  #takeMissed(logs: Logs, replay: Replay, pieces: Bytes[]): void {
    for (const frame of replay.piece()) this.#pass(frame, pieces);
    if (!replay.isOver) return;
    this.#id = replay.goal;
    this.#frame = replay.number ?? 0;
    this.#replay = replay.number === null ? new Replay(logs, parsePlace(replay.goal)) : null;
  }

  #pass({ name, id, bytes }: LogFrame, pieces: Bytes[]): void {
    this.#id = id ?? this.#id;
    if (!this.#names.has(name)) return;
    this.#sentId = id ?? this.#sentId;
    pieces.push(bytes);
  }

  /** That the server is still here; with the newest id, so that little is to be looked through later. */
  #beat(): Bytes {
    if (!this.#logs || !this.#isAtHead) return heartbeat;
    this.#id = this.#logs.heads.cut;
    if (this.#id === this.#sentId) return heartbeat;
    this.#sentId = this.#id;
    return Buffer.from(`: still here\nid: ${this.#id}\n\n`);
  }
}
