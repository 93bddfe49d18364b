import { LogReader, type Mark, type Position } from "../record/reader.ts";
import { system } from "../system/system.ts";
import { LineFile } from "./line-file.ts";
import { FileWatch } from "./watch.ts";

/** A {@link LogReader} of the files of a thread: its log, and optionally its debug log. */
export class FileReader extends LogReader {
  readonly #paths: [data: string, info?: string];

  constructor({
    data,
    info,
    ...where
  }: {
    data: string;
    info?: string;
    from?: Position;
    mark?: Mark;
  }) {
    super({
      data: new LineFile(data),
      ...(info !== undefined && { info: new LineFile(info) }),
      ...where,
    });
    this.#paths = info === undefined ? [data] : [data, info];
  }

  /** Whether the log exists: a thread may be removed during a read. */
  get exists(): boolean {
    return system.files.exists(this.#paths[0]);
  }

  watch(signal?: AbortSignal): FileWatch {
    return new FileWatch(
      this.#paths.filter((path) => path !== undefined),
      signal,
    );
  }
}
