// @ts-check
// Asks the server every few seconds what has changed. An unchanged hall is an empty answer.

/** @typedef {import("./hall-seats.js").States} States */
/** @typedef {import("./hall-seats.js").Changes} Changes */

const EVERY_MS = 4_000;
const SLOWEST_MS = 30_000;
const ANSWER_MS = 15_000;

export class LoggedOut extends Error {}

/** @param {string} url @returns {Promise<Response>} */
export async function get(url, signal = AbortSignal.timeout(ANSWER_MS)) {
  const answer = await fetch(url, { signal, headers: { "X-Requested-With": "fetch" } });
  if (answer.redirected) throw new LoggedOut();
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer;
}

/**
 * @param {() => string} url of what has changed since the last answer
 * @param {(reply: States | Changes | null) => void} onReply
 * @param {(error: Error) => void} onFailure
 */
export function follow(url, onReply, onFailure) {
  let wait = EVERY_MS;
  let timer = 0;
  let isAsking = false;

  async function ask() {
    if (isAsking) return;
    isAsking = true;
    clearTimeout(timer);
    try {
      const answer = await get(url());
      onReply(answer.status === 204 ? null : await answer.json());
      wait = EVERY_MS;
    } catch (error) {
      wait = Math.min(2 * wait, SLOWEST_MS);
      onFailure(/** @type {Error} */ (error));
    }
    isAsking = false;
    // Nobody looks at a hidden page.
    if (!document.hidden) timer = setTimeout(ask, wait);
  }

  timer = setTimeout(ask, wait);
  document.addEventListener("visibilitychange", () => !document.hidden && ask());
  addEventListener("online", ask);
}
