/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides which functions the shared library offers: those whose declaration says CUBEJIT_API, and nothing else.
 *
 * Everything is compiled with hidden visibility. The functions say so themselves, rather than patterns of a version script: a
 * declaration and its export cannot drift apart, names of the standard library that another ABI mangles differently do not matter,
 * and a class' nested State, its inline functions and what templates make of it stay inside, because classes are not annotated.
 * cmake/exports.map keeps back what is not ours: instantiations of the standard library and of libraries linked statically.
 * tests/exports.txt is the list of what comes out, and tests/exports_test.py compares.
 */
#ifndef CUBEJIT_EXPORT_H
#define CUBEJIT_EXPORT_H

#if defined(__GNUC__)
#define CUBEJIT_API __attribute__((visibility("default")))
#else
#define CUBEJIT_API
#endif

#endif
