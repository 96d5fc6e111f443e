/** What a client on the server's own machine needs to find it: the configuration and the administrator's key, without the server. */
export { readAdminKey } from './access/admin-key.ts'
export { loadConfig } from './config.ts'
