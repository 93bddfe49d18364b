import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Store } from "./program.ts";

/** A folder with projects, and the program that works there without a storage root of its caller. */
export class Projects extends Store {
  override get env(): Record<string, string> {
    const { UNCAGED_WORKFLOW_STORAGE_ROOT: _, ...env } = super.env;
    return env;
  }

  project(name: string, fields: object = {}): string {
    const folder = join(this.folder, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "uncaged.json"), JSON.stringify(fields));
    return folder;
  }

  at(cwd: string) {
    return {
      ok: (...args: string[]) => this.ok(args, { cwd }),
      run: (...args: string[]) => this.run(args, { cwd }),
      json: <T>(...args: string[]) => this.json<T>(args, { cwd }),
    };
  }
}
