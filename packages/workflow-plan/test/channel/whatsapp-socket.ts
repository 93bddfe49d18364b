import type {
  WhatsAppEvents,
  WhatsAppMessage,
  WhatsAppSocket,
} from "../../src/channel/whatsapp.ts";

/*
 * No server speaks WhatsApp's protocol locally: the channel is tested at its boundary, with a socket that has the events
 * and methods of the real client.
 */
type Sent = { id: string; chat: string; text: string; edits: string[] };

/** A client whose connections, messages and failures a test decides. */
export function whatsAppClient() {
  const sent: Sent[] = [];
  const folders: string[] = [];
  const typing: string[] = [];
  const refused: string[] = [];
  const sockets: ReturnType<typeof socketOf>[] = [];
  let nextId = 1;

  function socketOf() {
    const listeners: { [E in keyof WhatsAppEvents]: ((update: WhatsAppEvents[E]) => void)[] } = {
      "connection.update": [],
      "messages.upsert": [],
    };
    const emit = <E extends keyof WhatsAppEvents>(event: E, update: WhatsAppEvents[E]) => {
      for (const listener of listeners[event]) listener(update);
    };
    const socket: WhatsAppSocket = {
      ev: { on: (event, listener) => void listeners[event].push(listener) },
      sendMessage(jid, { edit, text }) {
        const why = refused.shift();
        if (why !== undefined) return Promise.reject(new Error(why));
        const before = sent.find(({ id }) => id === edit?.id);
        if (before) {
          before.edits.push(before.text);
          before.text = text;
          return Promise.resolve({ key: { id: before.id } });
        }
        const message = { id: `W${nextId++}`, chat: jid, text, edits: [] };
        sent.push(message);
        return Promise.resolve({ key: { id: message.id, remoteJid: jid, fromMe: true } });
      },
      sendPresenceUpdate: (_, jid) => Promise.resolve(void typing.push(jid)),
      requestPairingCode: (phone) => Promise.resolve(`CODE-${phone.slice(-4)}`),
      end: () => emit("connection.update", { connection: "close" }),
    };
    return { socket, emit };
  }

  return {
    ...{ sent, folders, typing, refused },
    openings: () => sockets.length,
    emit: <E extends keyof WhatsAppEvents>(event: E, update: WhatsAppEvents[E]) =>
      sockets.at(-1)?.emit(event, update),
    openSocket: (folder: string): Promise<WhatsAppSocket> => {
      folders.push(folder);
      const made = socketOf();
      sockets.push(made);
      const open = () => made.emit("connection.update", { connection: "open" });
      queueMicrotask(() => queueMicrotask(open));
      return Promise.resolve(made.socket);
    },
    write(chat: string, text: string | null, more: Partial<WhatsAppMessage["key"]> = {}) {
      const key = { remoteJid: chat, fromMe: false, id: `IN${nextId++}`, ...more };
      const message = text === null ? {} : { conversation: text };
      const received: WhatsAppMessage = { key, message, messageTimestamp: 1_700_000_000 };
      sockets.at(-1)?.emit("messages.upsert", { type: "notify", messages: [received] });
      return received;
    },
  };
}
