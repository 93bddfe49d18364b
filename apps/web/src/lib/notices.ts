import { useEffect, useRef, useState } from "react";
import { readStored, store } from "./stored.ts";
import type { Inbox } from "./inbox.ts";

const chosenKey = "uncaged-notices";

/** Tells whether the browser supports notifications. */
const canNotify = (): boolean => typeof Notification === "function";

const isOn = (): boolean =>
  canNotify() && Notification.permission === "granted" && readStored(chosenKey) === "on";

/** The user's choice about notifications. */
export type NoticeChoice = {
  /** `blocked` if the browser refuses notifications, `none` if it does not support them. */
  state: "on" | "off" | "blocked" | "none";
  /** Switches notifications on or off. Requests the browser's permission if necessary. */
  toggle: () => void;
};

export function useNoticeChoice(): NoticeChoice {
  const [, redraw] = useState(0);
  const state = !canNotify()
    ? "none"
    : Notification.permission === "denied"
      ? "blocked"
      : isOn()
        ? "on"
        : "off";
  const toggle = async () => {
    store(chosenKey, state === "on" ? "off" : "on");
    if (state !== "on") await Notification.requestPermission();
    redraw((times) => times + 1);
  };
  return { state, toggle: () => void toggle() };
}

/** Notifies of new items of the inbox while the page is hidden. `onOpen` opens an item by its key. */
export function useNotices({ items, isRead }: Inbox, onOpen: (key: string) => void): void {
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (!isRead) return;
    const before = known.current;
    known.current = new Set(items.map(({ key }) => key));
    if (before === null || !isOn() || document.hasFocus()) return;
    for (const { key, subject, text } of items) if (!before.has(key)) notify(key, subject, text);
  });
  function notify(key: string, subject: string, text: string): void {
    try {
      // Tabs with the same tag show one notification.
      const notice = new Notification(subject, { body: text, tag: key, icon: "/icon.svg" });
      notice.addEventListener("click", () => {
        window.focus();
        onOpen(key);
        notice.close();
      });
    } catch {
      // Chrome on Android has the constructor, but allows it only in a service worker.
    }
  }
}
