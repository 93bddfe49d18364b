import { useState } from "react";

/** A switch that this browser remembers. Without storage, it lasts until the user leaves the page. */
export function useRemembered(key: string): [boolean, (on: boolean) => void] {
  const [isOn, setOn] = useState(() => {
    try {
      return localStorage.getItem(key) === "on";
    } catch {
      return false;
    }
  });
  const set = (on: boolean) => {
    setOn(on);
    try {
      localStorage.setItem(key, on ? "on" : "off");
    } catch {
      // The switch still holds in this page.
    }
  };
  return [isOn, set];
}
