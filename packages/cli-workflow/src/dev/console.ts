import { isWorkflowError } from "@uncaged/workflow/host";
import type { RunningServer } from "@uncaged/workflow-server";
import { openBrowser, runningConsole, serveConsole } from "../console/console.ts";
import { errorText, recordOf } from "../session/failure.ts";
import type { Session } from "../session/session.ts";

const hostname = "127.0.0.1";
const port = 9160;

/**
 * The console of a `dev` session: the server that already serves this storage root, or a server that ends with `dev`.
 */
export class DevConsole {
  readonly #session: Session;
  #server: RunningServer | null = null;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Opens the console in the browser. Starts a server if none runs. Prints a note about a failure. */
  async open(): Promise<void> {
    try {
      const [url, entry] = await this.#addresses();
      this.#session.note(`console: ${url}`);
      if (!openBrowser(entry)) this.#session.note("no browser found; open the URL yourself");
    } catch (error) {
      this.#session.output.notes.write(errorText(recordOf(error)));
    }
  }

  async close(): Promise<void> {
    await this.#server?.stop();
  }

  /**
   * Returns the URL to show, without the token, and the URL to open. Other users of this machine may see the opened
   * URL.
   */
  async #addresses(): Promise<[url: string, entry: string]> {
    const running = this.#server ? null : await runningConsole(this.#session);
    if (running !== null) return [running, running.replace(/\?.*/, "")];
    this.#server ??= await this.#serve();
    return [this.#server.url, this.#server.entry()];
  }

  async #serve(): Promise<RunningServer> {
    try {
      return await serveConsole(this.#session, { hostname, port });
    } catch (error) {
      if (!isWorkflowError(error) || error.code !== "PORT_IN_USE") throw error;
      return await serveConsole(this.#session, { hostname, port: 0 });
    }
  }
}
