// Adds the bearer token to every request of the conformance suite, which has no option for it.
// The suite sends some by `fetch`, some by undici's `request` and some by Node's `http`.
import http from "node:http";
import { createRequire } from "node:module";

const authorization = `Bearer ${process.env.MCP_API_KEY}`;

const plainFetch = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.set("authorization", authorization);
  return plainFetch(input, { ...init, headers });
};

const plainRequest = http.request;
http.request = (options, respond) =>
  plainRequest({ ...options, headers: { ...options.headers, authorization } }, respond);

const { Agent, setGlobalDispatcher } = createRequire(process.argv[1])("undici");
const withToken = (dispatch) => (options, handler) => {
  const headers = Array.isArray(options.headers)
    ? [...options.headers, "authorization", authorization]
    : { ...options.headers, authorization };
  return dispatch({ ...options, headers }, handler);
};
setGlobalDispatcher(new Agent().compose(withToken));
