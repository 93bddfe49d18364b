import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { RunCheckpoint, RunSnapshot } from "../src/entry/api-types.ts";
import { asking, failing, story, writer } from "./flows.ts";
import { Serving, stopServing } from "./serving.ts";
import { follow, type Sent } from "./sse.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

type Refused = { error: string; messages?: string[] };

/** A server with the step workflows of `flows.ts`, and their model. */
export class Running {
  readonly serving: Serving;
  readonly #stopModel: () => Promise<unknown>;

  private constructor(serving: Serving, stopModel: () => Promise<unknown>) {
    this.serving = serving;
    this.#stopModel = stopModel;
  }

  static async start(): Promise<Running> {
    const model = await anthropicServer(({ messages }) => {
      const asked = JSON.stringify(messages);
      if (asked.includes("for ever")) return { text: "and so on", repeat: 100_000, tokenMs: 20 };
      const about = /dry|warm|Chapter \d+/.exec(asked)?.[0];
      return { thinking: "hm", text: `about ${about}`, tokenMs: 5 };
    });
    const env = { ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url };
    const serving = await Serving.startWith(env);
    serving.write("notes.txt", "tea");
    mkdirSync(join(serving.folder, "out"));
    for (const flow of [writer, asking, story, failing]) {
      const added = await serving.add(flow.name, JSON.stringify(flow), `${flow.name}.json`);
      if (!added.ok) throw new Error(await added.text());
    }
    return new Running(serving, () => model.stop());
  }

  /** Stops the server and its workers first, and then the model, because workers may still call the model. */
  async stop(): Promise<void> {
    await stopServing();
    await this.#stopModel();
  }

  /** Starts a run and returns its id. */
  async run(body: object): Promise<string> {
    return (await this.serving.ok<{ runID: string }>("/workflow/run", body)).runID;
  }

  /** Starts a rerun and returns its id. */
  async rerun(body: object): Promise<string> {
    return (await this.serving.ok<{ runID: string }>("/workflow/rerun", body)).runID;
  }

  status(runID: string): Promise<RunSnapshot> {
    return this.serving.ok(`/workflow/${runID}/status`);
  }

  variables(runID: string): Promise<object> {
    return this.serving.ok(`/workflow/${runID}/variables`);
  }

  checkpoint(runID: string, before?: string): Promise<RunCheckpoint> {
    const query = before === undefined ? "" : `?before=${before}`;
    return this.serving.ok(`/workflow/${runID}/checkpoint${query}`);
  }

  /** Sends a POST and returns its response, even an error response. */
  post(path: string, body: unknown = {}): Promise<{ status: number; body: Refused }> {
    return this.serving.ask<Refused>(`/workflow/${path}`, body);
  }

  /** Returns the events of a run up to its end: all events, or the events after an id. */
  events(runID: string, lastEventId?: string): Promise<Sent[]> {
    const from = lastEventId === undefined ? {} : { lastEventId };
    return follow(this.serving, `/workflow/${runID}/events`, from);
  }

  /** Waits until a run has a status. */
  async until(runID: string, status: RunSnapshot["status"]): Promise<RunSnapshot> {
    let snapshot = await this.status(runID);
    await until(
      async () => (snapshot = await this.status(runID)).status === status,
      () => `the run ${runID} is ${snapshot.status}, not ${status}`,
    );
    return snapshot;
  }
}
