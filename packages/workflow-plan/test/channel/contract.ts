import { afterEach, describe, expect, test } from "bun:test";
import type { Channel, ChannelOptions, NewMessage } from "../../src/channel/channel.ts";
import type { Workflow } from "../../src/plan/plan.ts";
import { plan, step } from "../parts.ts";

/** A message as the platform shows it. */
export type Shown = { id: string; chat: string; text: string; edits: readonly string[] };

/** A connected channel. A test plays the user. */
export type Opened = {
  channel: Channel;
  jid: string;
  /** The maximum length of a message on the platform, in characters. */
  longest: number;
  shown: () => readonly Shown[];
  /** Sends a message as the user; null sends a message without a text. */
  write: (text: string | null, more?: { sender?: null }) => void;
  /** Delivers the user's last message again. */
  writeAgain: () => void;
  /** Makes the platform refuse the next message; null if the platform never refuses messages. */
  refuse: (() => void) | null;
};

export const workflowOf = (more: Partial<Workflow> = {}): Workflow => ({
  ...plan([step("a"), step("b", ["a"])]),
  schema_version: "1.0",
  id: "wf_aaaaaaaaaaaaaaaaaaaaa",
  phase: "awaiting_confirmation",
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
  ...more,
});

/** Waits until a condition holds, for at most 30 seconds. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`timeout after 30 s: ${what}`);
    await Bun.sleep(2);
  }
}

/** Returns the error message of rejected work. */
export const errorOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "no error",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

/** Tests the required behavior of every channel. `open` connects a channel with the given options. */
export function channelContract(
  name: string,
  open: (options: ChannelOptions) => Promise<Opened>,
): void {
  describe(`the channel ${name}`, () => {
    const opened: Opened[] = [];
    afterEach(async () => {
      await Promise.all(opened.splice(0).map(({ channel }) => channel.disconnect()));
    });

    async function begin(more: Partial<ChannelOptions> = {}) {
      const came: { jid: string; message: NewMessage }[] = [];
      const lines: string[] = [];
      const one = await open({
        onMessage: (jid, message) => void came.push({ jid, message }),
        describe: (workflow) => `**${workflow.name}**\n${workflow.description}`,
        log: (line) => void lines.push(line),
        ...more,
      });
      opened.push(one);
      return { ...one, came, lines };
    }

    test("is connected until `disconnect()`, which may be called twice", async () => {
      const { channel, jid } = await begin();
      await until(() => channel.isConnected(), "connected");
      expect(channel.ownsJid(jid)).toBe(true);
      expect(channel.ownsJid("nobody@example.org")).toBe(false);
      await channel.disconnect();
      await channel.disconnect();
      expect(channel.isConnected()).toBe(false);
    });

    test("delivers messages from users", async () => {
      const { came, jid, write } = await begin();
      write("Hello *there*, 100%");
      await until(() => came.length > 0, "the message");
      expect(came[0]).toMatchObject({ jid, message: { text: "Hello *there*, 100%" } });
      expect(came[0]?.message.sender).not.toBe("");
      expect(Number.isNaN(Date.parse(came[0]?.message.timestamp ?? ""))).toBe(false);
    });

    test("skips messages without a text or a sender, and continues", async () => {
      const { came, write } = await begin();
      write(null);
      write("from nobody", { sender: null });
      write("seen");
      await until(() => came.length > 0, "the message");
      expect(came.map(({ message }) => message.text)).toEqual(["seen"]);
    });

    test("delivers a repeated message with the same id", async () => {
      const { channel, came, write, writeAgain } = await begin();
      if (channel.name === "terminal") return;
      write("once");
      writeAgain();
      await until(() => came.length > 1, "both messages");
      expect(came[0]?.message.metadata?.id).toBeString();
      expect(came[0]?.message.metadata?.id).toBe(came[1]?.message.metadata?.id as string);
    });

    test("survives a handler that throws", async () => {
      const texts: string[] = [];
      const { lines, write } = await begin({
        onMessage: (_, { text }) => {
          texts.push(text);
          if (text === "boom") throw new Error("the handler broke");
        },
      });
      write("boom");
      write("after");
      await until(() => texts.length > 1, "the second message");
      expect(texts).toEqual(["boom", "after"]);
      expect(lines.join()).toContain("the handler broke");
    });

    test("shows every character unchanged", async () => {
      const { channel, jid, shown } = await begin();
      const text = "a_b *c* [d](e) ~f~ `unclosed > # + - = | { } . ! \\ é 🦉\n- item 1.5";
      const id = await channel.sendMessage(jid, text);
      expect(shown().map((one) => one.text)).toEqual([text]);
      expect(id).toBe(channel.name === "terminal" ? "" : (shown()[0]?.id ?? ""));
    });

    test("splits 10,000 characters into messages within the limit", async () => {
      const { channel, jid, longest, shown } = await begin();
      const line = "Some words and some more_words.";
      const long = Array.from({ length: 320 }, (_, at) => `${at}: ${line}`).join("\n");
      await channel.sendMessage(jid, long);
      const texts = shown().map(({ text }) => text);
      expect(texts.join("\n")).toBe(long);
      expect(texts.every(({ length }) => length <= longest)).toBe(true);
      await channel.sendMessage(jid, "x".repeat(10_000));
      const rest = shown().slice(texts.length);
      expect(rest.map(({ text }) => text).join("")).toBe("x".repeat(10_000));
    });

    test("asks for a confirmation, however long the plan is", async () => {
      const { channel, jid, longest, shown } = await begin();
      await channel.sendConfirmation(jid, workflowOf({ description: "word ".repeat(2_000) }));
      const texts = shown().map(({ text }) => text);
      expect(texts.join(" ")).toContain("A plan");
      expect(texts.join(" ").match(/word/g)).toHaveLength(2_000);
      expect(texts.every(({ length }) => length <= longest)).toBe(true);
    });

    test("edits its sent messages, if the platform supports it", async () => {
      const { channel, jid, shown } = await begin();
      if (!channel.editMessage) return;
      const id = await channel.sendMessage(jid, "Planning…");
      await channel.editMessage(jid, id, "Planned.");
      await channel.editMessage(jid, id, "Planned.");
      expect(shown()[0]).toMatchObject({ text: "Planned." });
      expect(shown()[0]?.edits).toContain("Planning…");
      expect(shown()).toHaveLength(1);
    });

    test("reports a refused message, and sends the next message", async () => {
      const { channel, jid, refuse, shown } = await begin();
      if (!refuse) return;
      refuse();
      expect(await errorOf(channel.sendMessage(jid, "refused"))).not.toBe("no error");
      await channel.sendMessage(jid, "taken");
      expect(shown().map(({ text }) => text)).toEqual(["taken"]);
    });
  });
}
