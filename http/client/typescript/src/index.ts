export * from './api.js';
export { type Answer, type ClientOptions, type Frame, Page, type Query, type RequestOptions, ServiceError, codeOf } from './client.js';
